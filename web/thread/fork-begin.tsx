/** The line between two turns of a conversation where a fork begins: the way back to the session that it was forked from. */
import type { ListedTurn, Thread } from "../api/thread.ts";
import { pathTo } from "../routes.ts";

export function ForkBegin({ thread, origin }: { thread: Thread; origin: ListedTurn }) {
  return (
    <p class="fork-begin dim">
      A fork begins here.{" "}
      <a href={pathTo("turn", { session: origin.sessionId, turn: origin.id })}>Go to where it was forked</a>{" "}
      <a href={pathTo("turn", { session: thread.id, turn: "tree" })}>See all forks</a>
    </p>
  );
}
