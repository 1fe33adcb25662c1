/** The calls of this conversation that wait for a person, in the place where they were made. */
import { waiting } from "../api/live.ts";
import type { Thread } from "../api/thread.ts";
import { ApprovalCard } from "../approvals/approval-card.tsx";

export function WaitingCalls({ thread, turnId }: { thread: Thread; turnId: string }) {
  const calls = (waiting.value ?? []).filter((call) => call.sessionId === thread.id && call.turnId === turnId);
  return (
    <>
      {calls.map((call) => (
        <ApprovalCard key={call.callId} call={call} onAnswered={() => void thread.load()} />
      ))}
    </>
  );
}
