/** What was sent now, what the model had already, and what was left out and why: one list, equally visible. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { WireTurn, WireTurnContext } from "../../src/client/client.ts";
import { mayWrite } from "../api/connection.ts";
import type { Thread } from "../api/thread.ts";
import { Code } from "../parts/code.tsx";
import { bytes, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { repositoriesOf } from "../thread/choices.ts";
import { runAgainAsked } from "../thread/run-again-asked.ts";
import { listOfSent, skipReasons, type SentItem, type SentText } from "./sent.ts";

interface SentListProps {
  thread: Thread;
  turn: WireTurn;
  context: WireTurnContext | null;
}

export function SentList({ thread, turn, context }: SentListProps) {
  const { now, before, out } = listOfSent(turn, context);
  const { manifest, warnings } = turn;
  const session = thread.session.value;
  const several = session === null ? [] : repositoriesOf(session);
  const mayAsk = mayWrite.value && turn.status !== "pending" && turn.kind === "agent";
  const ask = ({ path, why }: SentItem): void => {
    const isTooLarge = why === skipReasons.too_large;
    runAgainAsked.value = { thread, turn, file: { path, isTooLarge, isInRepository: turn.repo !== null } };
  };
  return (
    <>
      <Items title="Sent now" items={now} whenEmpty="Nothing but the message." />
      <Items title="Left out" items={out} whenEmpty="Nothing." ask={mayAsk ? ask : null} />
      <Items title="Already there" items={before} whenEmpty="" />
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

interface ItemsProps {
  title: string;
  items: readonly SentItem[];
  whenEmpty: string;
  /** Asks for a run with the item. */
  ask?: ((item: SentItem) => void) | null;
}

function Items({ title, items, whenEmpty, ask = null }: ItemsProps) {
  if (items.length === 0 && whenEmpty === "") return null;
  return (
    <section class={title === "Left out" ? "left-out" : ""}>
      <h3>
        {title} {items.length > 0 && <span class="tag numbers">{items.length}</span>}
      </h3>
      {items.length === 0 && <p class="dim">{whenEmpty}</p>}
      <ul class="sent">
        {items.map((item, at) => (
          <li key={at}>
            <Item item={item} />
            {ask !== null && item.isAskable && (
              <button type="button" class="small" onClick={() => ask(item)}>
                Send it anyway …
              </button>
            )}
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
  return text === null ? <div class="sent-head">{head}</div> : <Opened head={head} text={text} />;
}

/** The code as the model received it. */
function Opened({ head, text: { text, language } }: { head: ComponentChildren; text: SentText }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary class="sent-head">{head}</summary>
      {isOpen && <Code text={text} language={language} />}
    </details>
  );
}
