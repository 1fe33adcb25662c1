/** Describes a call that a turn waits for, in one line. */
import type { ExecuteAnswer } from "../../../client/client.ts";

type WaitingCall = ExecuteAnswer["toolCalls"][number];

/** `given`: the arguments as they are to be shown. */
export function waitingWords({ name, waitsFor, callId, budgetIds, ...call }: WaitingCall, given: string): string {
  // The model did not ask for this: its next call could pass a budget, and the reason names it.
  if (budgetIds !== undefined) return `the turn waits for approval: ${reasonOf(call.arguments)}`;
  return `${name} ${given} ${waitsFor === "approval" ? "waits for approval" : "waits for its result"} (call ${callId})`;
}

function reasonOf(given: string): string {
  const { reason } = JSON.parse(given) as { reason: string };
  return reason;
}
