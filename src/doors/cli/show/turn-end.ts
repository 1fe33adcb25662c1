/** How the last turn of a session ended, in the same words wherever a session is shown. */
import { groupedNumber } from "../../../system/grouped-number.ts";
import type { AptoveClient, WireSession, WireTurnSummary } from "../../../client/client.ts";

/** What a session does not say of its last turn. */
export type LastTurn = Pick<WireTurnSummary, "sequence" | "status" | "stopReason" | "failures" | "usage">;

/** Returns the end of the session's last turn, which may be at hand already. Null: there is none, or it runs. */
export async function lastEndOf(
  client: AptoveClient,
  { id, turnCount, lastTurnStatus }: WireSession,
  atHand: (Omit<LastTurn, "usage"> & { run: { usage: LastTurn["usage"] } | null }) | null,
): Promise<LastTurn | null> {
  if (turnCount === 0 || lastTurnStatus === "pending") return null;
  if (atHand?.sequence === turnCount) return { ...atHand, usage: atHand.run?.usage ?? null };
  return (await client.sessions.turns(id, { limit: 1 })).turns[0] ?? null;
}

/** A turn that was stopped counts as completed with the text so far, so the word says that it was. */
export function turnEnd({ status, failures, stopReason }: Omit<LastTurn, "usage" | "sequence">): string {
  if (status === "failed") return `failed ${failures[0]?.code ?? ""}`;
  return status === "completed" && stopReason === "interrupted" ? stopReason : status;
}

/** Returns the status of the last turn, or that it was interrupted. */
export function lastState({ lastTurnStatus }: WireSession, end: LastTurn | null): string {
  return end === null || end.status === "failed" ? (lastTurnStatus ?? "empty") : turnEnd(end);
}

/** Returns the sum that is known. A turn that was cut off before the provider stated its tokens adds none. */
export function knownTokens({ tokensTotal }: WireSession, end: LastTurn | null): string {
  const isWhole = end?.usage == null || (end.usage.totalTokens !== null && end.usage.isPartial !== true);
  if (isWhole) return groupedNumber(tokensTotal);
  return tokensTotal === 0 ? "unknown" : `at least ${groupedNumber(tokensTotal)}`;
}
