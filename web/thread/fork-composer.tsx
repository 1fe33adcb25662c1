/** The place where the first instruction of a fork is written. The fork is a session from then on (T6). */
import { useEffect } from "preact/hooks";
import type { Thread } from "../api/thread.ts";
import { pathTo } from "../routes.ts";
import { forkChoice, nothingChosen } from "./choices.ts";
import { Composer } from "./composer.tsx";
import { showTurn } from "./turn-actions.ts";

export function ForkComposer({ thread, turnId }: { thread: Thread; turnId: string }) {
  useEffect(() => {
    forkChoice.value = nothingChosen;
    void showTurn(thread, turnId);
    return () => void (thread.tip.value = null);
  }, [turnId]);
  return (
    <>
      <p class="notice fork-notice" role="status">
        What you ask now begins a fork at turn {thread.turns.value.get(turnId)?.sequence ?? "…"}: a session of its own.{" "}
        <a href={pathTo("session", { session: thread.id })}>Cancel</a>
      </p>
      <Composer thread={thread} fork={turnId} run={(...asked) => thread.run(...asked)} takesFocus />
    </>
  );
}
