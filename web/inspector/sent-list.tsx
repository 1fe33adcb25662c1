/** What was sent now, what the model had already, and what was left out and why: one list, equally visible. */
import type { WireTurn, WireTurnContext } from "../../src/client/client.ts";
import { mayWrite } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";
import { bytes, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { repositoriesOf } from "../thread/choices.ts";
import { runAgain } from "../thread/turn-actions.ts";
import { listOfSent, type SentItem } from "./sent.ts";

export function SentList({
  thread,
  turn,
  context,
}: {
  thread: Thread;
  turn: WireTurn;
  context: WireTurnContext | null;
}) {
  const { now, before, out } = listOfSent(turn, context);
  const { manifest, warnings } = turn;
  const session = thread.session.value;
  const several = session === null ? [] : repositoriesOf(session);
  return (
    <>
      <Items title="Sent now" items={now} whenEmpty="Nothing but the message." />
      <Items title="Already there" items={before} whenEmpty="" />
      <Items title="Left out" items={out} whenEmpty="Nothing." />
      {out.length > 0 && mayWrite.value && turn.status !== "pending" && (
        <button type="button" class="small" onClick={() => void runAgain(thread, turn.id)}>
          Search and send again beside it
        </button>
      )}
      {warnings.length > 0 && <h3>Warnings</h3>}
      {warnings.map(({ code, message }, at) => (
        <p key={at} class="notice wait">
          {message} <code>{code}</code>
        </p>
      ))}
      <h3>Where it came from</h3>
      <dl class="facts">
        <dt>History</dt>
        <dd>
          {plural(manifest.historyTurns, "turn")},{" "}
          {{ none: "none sent", chain: "kept by the provider", replay: "sent whole" }[manifest.history]}
        </dd>
        <dt>Context</dt>
        <dd>
          {manifest.conversationContext.id}
          {manifest.conversationContext.version !== undefined && `, version ${manifest.conversationContext.version}`}
        </dd>
        <dt>Model</dt>
        <dd>
          {turn.provider} {turn.model}, mode {turn.mode}
        </dd>
        {turn.repo !== null && (
          <>
            <dt>Repository</dt>
            <dd>{shownText(several.length > 1 ? several.join(", ") : turn.repo)}</dd>
          </>
        )}
        {turn.digest !== null && (
          <>
            <dt>Digest</dt>
            <dd class="digest">{turn.digest}</dd>
          </>
        )}
      </dl>
    </>
  );
}

function Items({ title, items, whenEmpty }: { title: string; items: readonly SentItem[]; whenEmpty: string }) {
  if (items.length === 0 && whenEmpty === "") return null;
  return (
    <section>
      <h3>{title}</h3>
      {items.length === 0 && <p class="dim">{whenEmpty}</p>}
      <ul class="sent">
        {items.map((item, at) => (
          <li key={at}>
            <Item item={item} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Item({ item: { path, lines, sizeBytes, why, text } }: { item: SentItem }) {
  const head = (
    <>
      <bdi class="path">{shownText(path)}</bdi>
      <span class="numbers dim">{lines ?? (sizeBytes === null ? "" : bytes(sizeBytes))}</span>
      {why !== "" && <span class="why">{why}</span>}
    </>
  );
  if (text === null) return <div class="sent-head">{head}</div>;
  return (
    <details>
      <summary class="sent-head">{head}</summary>
      <pre class="output" tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}
