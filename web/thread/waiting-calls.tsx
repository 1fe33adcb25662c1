/** The calls of this conversation that wait for a person, in the place where they were made. */
import { waiting } from "../api/live.ts";
import type { Thread } from "../api/thread.ts";
import type { WaitingCall } from "../approvals/approval-card.tsx";
import { useLate } from "../parts/late.tsx";

export function WaitingCalls({ thread, turnId }: { thread: Thread; turnId: string }) {
  const calls = (waiting.value ?? []).filter((call) => call.sessionId === thread.id && call.turnId === turnId);
  return calls.length === 0 ? null : <Cards calls={calls} onAnswered={() => void thread.load()} />;
}

function Cards({ calls, onAnswered }: { calls: readonly WaitingCall[]; onAnswered(): void }) {
  const { Of, waiting: notYet } = useLate(async () => (await import("../approvals/approvals.tsx")).ApprovalCard);
  return Of === null ? (
    <>{notYet}</>
  ) : (
    <>
      {calls.map((call) => (
        <Of key={call.callId} call={call} onAnswered={onAnswered} />
      ))}
    </>
  );
}
