/** Two turns side by side (U7): what the model saw differently, and the two answers. */
import { useSignal } from "@preact/signals";
import type { WireTurnDiff, WireTurnSummary } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { Markdown } from "../parts/markdown.tsx";
import { duration, plural } from "../parts/numbers.ts";
import { stopWords, usageWords } from "../parts/turn-words.ts";
import { shownText } from "../parts/shown-text.ts";
import { FailedState, Loading } from "../parts/states.tsx";
import { pathTo, route } from "../routes.ts";
import { Answers } from "./answers.tsx";
import { differencesOf, type Difference } from "./differences.ts";

interface Read {
  diff: WireTurnDiff;
  turns: readonly [WireTurnSummary, WireTurnSummary];
}

async function read(a: string, b: string): Promise<Read> {
  const [diff, ...turns] = await Promise.all([
    client.turns.diff(a, b),
    client.turns.summary(a),
    client.turns.summary(b),
  ]);
  return { diff, turns };
}

export function Compare() {
  const { a = "", b = "" } = route.value.params;
  const { value, failed, load } = useLoaded(`${a} ${b}`, () => read(a, b));
  return (
    <main class="view compare" id="view" tabIndex={-1}>
      <h1>Comparison</h1>
      {value.value === null && failed.value === null && <Loading lines={8} />}
      {value.value === null && failed.value !== null && <FailedState failed={failed.value} retry={() => void load()} />}
      {value.value !== null && <Compared read={value.value} />}
    </main>
  );
}

function Compared({ read: { diff, turns } }: { read: Read }) {
  const isMarked = useSignal(true);
  const { a, b } = diff;
  const isSame = a.answer === b.answer;
  return (
    <>
      <SeenDifferently diff={diff} />
      <div class="two sides">
        <Head turn={turns[0]} name="Left" session={sessionWords(a, b)} />
        <Head turn={turns[1]} name="Right" session={sessionWords(b, a)} />
      </div>
      <Instructions a={a.instruction} b={b.instruction} />
      <p class="row-of">
        <label class="check">
          <input type="checkbox" checked={isMarked.value} onChange={() => (isMarked.value = !isMarked.value)} />
          Mark what differs
        </label>
        <a class="button quiet small" href={pathTo("compare", { a: b.turnId, b: a.turnId })}>
          Swap the sides
        </a>
      </p>
      {isSame && <p class="notice">Both answers are the same, to the last byte.</p>}
      {isSame && <Markdown text={a.answer} />}
      {!isSame && isMarked.value && <Answers left={a.answer} right={b.answer} />}
      {!isSame && !isMarked.value && (
        <div class="two">
          <Markdown text={a.answer} />
          <Markdown text={b.answer} />
        </div>
      )}
    </>
  );
}

type Side = WireTurnDiff["a"];

/** The name of a side's session. Two sessions of one name differ by the ends of their ids. */
function sessionWords({ sessionId, sessionName }: Side, other: Side): string {
  const isUnclear = sessionName === other.sessionName && sessionId !== other.sessionId;
  return isUnclear ? `${sessionName} (${sessionId.slice(-8)})` : sessionName;
}

/** What a turn was, took and cost. */
function Head({ turn, name, session }: { turn: WireTurnSummary; name: string; session: string }) {
  const { id, sessionId, sequence, provider, model, mode, status, stopReason, durationMs, usage } = turn;
  const facts = [
    `${provider} ${model}`,
    mode,
    status !== "completed" && status.replaceAll("_", " "),
    durationMs !== null && duration(durationMs),
    stopWords(stopReason),
    ...(usage === null ? [] : usageWords(usage)),
    usage !== null && usage.costUsd === undefined && "price not known",
  ].filter((one) => typeof one === "string");
  return (
    <section aria-label={name}>
      <h2>
        <span class="side-name">{name}</span>{" "}
        <a href={pathTo("turn", { session: sessionId, turn: id })}>Turn {sequence}</a>
        <span class="session-name">
          {" "}
          of <bdi>{shownText(session)}</bdi>
        </span>
      </h2>
      <p class="dim numbers">{facts.join(" · ")}</p>
    </section>
  );
}

function Instructions({ a, b }: { a: string; b: string }) {
  if (a === b) return <div class="instruction">{a}</div>;
  return (
    <div class="two">
      <div class="instruction">{a}</div>
      <div class="instruction">{b}</div>
    </div>
  );
}

function SeenDifferently({ diff }: { diff: WireTurnDiff }) {
  const { rows, places, same } = differencesOf(diff);
  const { commonTurns, onlyA, onlyB } = diff.history;
  const words = (more: number): string =>
    [plural(commonTurns, "common turn"), more > 0 ? plural(more, "more turn") : ""].filter(Boolean).join(" and ");
  const history = { what: "history", left: words(onlyA.length), right: words(onlyB.length) };
  const isAhead = onlyA.length + onlyB.length > 0;
  const all = isAhead ? [...rows, history] : rows;
  const equal = isAhead ? same : [...same, `history (${history.left})`];
  return (
    <>
      {all.length === 0 && places.length === 0 && <p class="notice">The model saw the same in both.</p>}
      <DifferenceTable title="What the model saw differently" first="What" rows={all} />
      <DifferenceTable title="Code and files that differ" first="Place" rows={places} isPath />
      {equal.length > 0 && <p class="dim">The same: {equal.join(", ")}.</p>}
    </>
  );
}

const shownAtFirst = 20;

interface DifferenceTableProps {
  title: string;
  first: string;
  rows: readonly Difference[];
  isPath?: boolean;
}

function DifferenceTable({ title, first, rows, isPath = false }: DifferenceTableProps) {
  const shown = useSignal(shownAtFirst);
  if (rows.length === 0) return null;
  return (
    <>
      <table class="plain-table differences">
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">{first}</th>
            <th scope="col">Left</th>
            <th scope="col">Right</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown.value).map(({ what, left, right }) => (
            <tr key={what}>
              <th scope="row">{isPath ? <bdi class="path">{shownText(what)}</bdi> : what}</th>
              {[left, right].map((words, at) => (
                <td key={at} class={words === "not sent" ? "dim" : ""}>
                  {shownText(words)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > shown.value && (
        <button type="button" class="quiet small" onClick={() => (shown.value += 200)}>
          {plural(rows.length - shown.value, "more row")}
        </button>
      )}
    </>
  );
}
