/** Two turns side by side (U7): what the model saw differently, and the two answers. */
import { useSignal } from "@preact/signals";
import type { WireTurnDiff } from "../../src/client/client.ts";
import { client } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { Markdown } from "../parts/markdown.tsx";
import { plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { FailedState, Loading } from "../parts/states.tsx";
import { pathTo, route } from "../routes.ts";
import { differencesOf } from "./differences.ts";
import { WordDiff } from "./word-diff.tsx";

export function Compare() {
  const { a = "", b = "" } = route.value.params;
  const { value, failed, load } = useLoaded(`${a} ${b}`, () => client.turns.diff(a, b));
  return (
    <main class="view compare" id="view" tabIndex={-1}>
      <h1>Comparison</h1>
      {value.value === null && failed.value === null && <Loading lines={8} />}
      {value.value === null && failed.value !== null && <FailedState failed={failed.value} retry={() => void load()} />}
      {value.value !== null && <Compared diff={value.value} />}
    </main>
  );
}

function Compared({ diff }: { diff: WireTurnDiff }) {
  const isMarked = useSignal(true);
  const { a, b } = diff;
  const isSame = a.answer === b.answer;
  return (
    <>
      <Differences diff={diff} />
      <div class="two">
        {[a, b].map((side, at) => (
          <section key={at} aria-label={at === 0 ? "Left" : "Right"}>
            <h2>
              <a href={pathTo("turn", { session: side.sessionId, turn: side.turnId })}>Turn {side.sequence}</a>
            </h2>
            <p class="dim">
              {side.provider} {side.model}, mode {side.mode}, {side.status.replaceAll("_", " ")}
            </p>
            {(at === 0 || a.instruction !== b.instruction) && <div class="instruction">{side.instruction}</div>}
          </section>
        ))}
      </div>
      <label class="check">
        <input type="checkbox" checked={isMarked.value} onChange={() => (isMarked.value = !isMarked.value)} />
        Mark the words that differ
      </label>
      {isSame && <p class="notice">Both answers are the same, to the last byte.</p>}
      <div class="two">
        {[a, b].map((side, at) => (
          <section key={at} aria-label={at === 0 ? "Left answer" : "Right answer"}>
            {isMarked.value && !isSame ? (
              <WordDiff from={at === 0 ? b.answer : a.answer} to={side.answer} />
            ) : (
              <Markdown text={side.answer} />
            )}
          </section>
        ))}
      </div>
    </>
  );
}

function Differences({ diff }: { diff: WireTurnDiff }) {
  const { rows, same } = differencesOf(diff);
  const { commonTurns, onlyA, onlyB } = diff.history;
  return (
    <>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="What the model saw differently">
        <table class="plain-table">
          <caption class="spoken">What the model saw differently</caption>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Left</th>
              <th scope="col">Right</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ what, left, right }, at) => (
              <tr key={at}>
                <th scope="row">{what}</th>
                <td>{shownText(left)}</td>
                <td>{shownText(right)}</td>
              </tr>
            ))}
            <tr>
              <th scope="row">history</th>
              <td>
                {plural(commonTurns, "common turn")}
                {onlyA.length > 0 && ` and ${plural(onlyA.length, "more turn")}`}
              </td>
              <td>
                {plural(commonTurns, "common turn")}
                {onlyB.length > 0 && ` and ${plural(onlyB.length, "more turn")}`}
              </td>
            </tr>
          </tbody>
        </table>
      </div>
      {same.length > 0 && <p class="dim">The same: {same.join(", ")}.</p>}
    </>
  );
}
