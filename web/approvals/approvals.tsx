/** Everything that waits for this person, over all sessions (U8). Made for a phone. */
import { liveFault, waiting } from "../api/live.ts";
import { Empty, FailedState, Loading } from "../parts/states.tsx";
import { ApprovalCard } from "./approval-card.tsx";

export { ApprovalCard };

export function Approvals() {
  const calls = waiting.value;
  return (
    <main class="view approvals" id="view" tabIndex={-1}>
      <h1>Waiting for you</h1>
      {calls === null && liveFault.value !== null && <FailedState failed={{ words: liveFault.value, code: "" }} />}
      {calls === null && liveFault.value === null && <Loading />}
      {calls?.length === 0 && (
        <Empty>Nothing waits for you. A call that needs your answer appears here by itself.</Empty>
      )}
      {calls?.map((call) => (
        <ApprovalCard key={`${call.turnId} ${call.callId}`} call={call} isAlone />
      ))}
    </main>
  );
}
