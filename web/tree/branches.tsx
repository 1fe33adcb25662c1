/** What is drawn beside a turn: its dot in the lane, and the other branches that begin where it begins. */
import type { ListedTurn, Thread } from "../api/thread.ts";
import { count } from "../parts/numbers.ts";

/** The marks of a turn that are no colour alone: filled, ringed for the head, hollow for a failed one. */
export function Branches({ thread, turn }: { thread: Thread; turn: ListedTurn }) {
  const children = thread.children.value;
  const siblings = (children.get(turn.parentId ?? "") ?? []).filter(({ sessionId }) => sessionId === turn.sessionId);
  const at = siblings.findIndex(({ id }) => id === turn.id);
  const isHead = thread.session.value?.headTurnId === turn.id;
  const [kind, words] = isHead
    ? ["head", "The head: the next instruction continues here"]
    : turn.status === "failed"
      ? ["failed", `Failed: ${turn.failures[0]?.message ?? "the reason is not known"}`]
      : turn.status === "pending"
        ? ["running", "Running"]
        : ["", undefined];
  const show = (step: number): void => {
    const next = siblings[at + step];
    if (next !== undefined) thread.tip.value = newestBelow(thread, next);
  };
  return (
    <div class="lane">
      {siblings.length > 1 && <LeavingLanes others={siblings.length - 1} />}
      <span class={`dot ${kind}`} title={words} />
      {siblings.length > 1 && (
        <div class="siblings" role="group" aria-label={`Branch ${at + 1} of ${siblings.length}`}>
          <button type="button" class="quiet" disabled={at === 0} aria-label="Previous branch" onClick={() => show(-1)}>
            ‹
          </button>
          <span aria-hidden="true">
            {count(at + 1)}/{count(siblings.length)}
          </span>
          <button
            type="button"
            class="quiet"
            disabled={at === siblings.length - 1}
            aria-label="Next branch"
            onClick={() => show(1)}
          >
            ›
          </button>
        </div>
      )}
    </div>
  );
}

/** The lanes of the other branches, which leave where this turn begins. Each has a hue; more than three look like three. */
function LeavingLanes({ others }: { others: number }) {
  const lanes = Array.from({ length: Math.min(3, others) }, (_, at) => at);
  return (
    <svg class="lanes leaving" width={28} height={28} aria-hidden="true">
      {lanes.map((at) => (
        <path
          key={at}
          class={`lane-${at + 1}`}
          d={`M14 0C14 ${8 - at * 2} ${20 + at * 3} ${4 - at} ${20 + at * 3} 24`}
        />
      ))}
    </svg>
  );
}

/** The end of the branch that was worked on last. */
function newestBelow(thread: Thread, from: ListedTurn): string {
  let end = from.id;
  for (;;) {
    const next = thread.children.value.get(end)?.at(-1);
    if (next === undefined) return end;
    end = next.id;
  }
}
