/** What is drawn beside a turn: its dot in the lane, and the other branches that begin where it begins. */
import type { ListedTurn, Thread } from "../api/thread.ts";

/** The marks of a turn that are no colour alone: filled for the head, hollow for a failed one. */
export function Branches({ thread, turn }: { thread: Thread; turn: ListedTurn }) {
  const siblings = [...thread.turns.value.values()]
    .filter((one) => one.parentId === turn.parentId && one.sessionId === turn.sessionId && one.kind === "agent")
    .toSorted((a, b) => a.sequence - b.sequence);
  const at = siblings.findIndex(({ id }) => id === turn.id);
  const isHead = thread.session.value?.headTurnId === turn.id;
  const kind = isHead ? "head" : turn.status === "failed" ? "failed" : turn.status === "pending" ? "running" : "";
  const show = (step: number): void => {
    const next = siblings[at + step];
    if (next !== undefined) thread.tip.value = newestBelow(thread, next);
  };
  return (
    <div class="lane">
      <span class={`dot ${kind}`} title={isHead ? "The head: the next instruction continues here" : undefined} />
      {siblings.length > 1 && (
        <div class="siblings" role="group" aria-label={`Branch ${at + 1} of ${siblings.length}`}>
          <button type="button" class="quiet" disabled={at === 0} aria-label="Previous branch" onClick={() => show(-1)}>
            ‹
          </button>
          <span aria-hidden="true">
            {at + 1}/{siblings.length}
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

/** The end of the branch that was worked on last. */
function newestBelow(thread: Thread, from: ListedTurn): string {
  const turns = [...thread.turns.value.values()].filter(({ kind }) => kind === "agent");
  let end = from;
  for (;;) {
    const next = turns.filter(({ parentId }) => parentId === end.id).toSorted((a, b) => b.sequence - a.sequence)[0];
    if (next === undefined) return end.id;
    end = next;
  }
}
