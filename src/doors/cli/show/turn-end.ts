/** How a turn ended, in the same words wherever a turn or a session is shown. */
import { groupedNumber } from "../../../system/grouped-number.ts";
import type { WireSession, WireTurnSummary } from "../../../client/client.ts";

/** A turn that was stopped counts as completed with the text so far, so the word says that it was. */
export function turnEnd({
  status,
  failures,
  stopReason,
}: Pick<WireTurnSummary, "status" | "stopReason" | "failures">): string {
  return status === "failed" ? `failed ${failures[0]?.code ?? ""}` : stateWord(status, stopReason);
}

/** Returns the status of the last turn, or that it was interrupted. */
export function lastState({ lastTurnStatus, lastTurnStopReason }: WireSession): string {
  return lastTurnStatus === null ? "empty" : stateWord(lastTurnStatus, lastTurnStopReason);
}

function stateWord(status: WireTurnSummary["status"], stopReason: WireTurnSummary["stopReason"]): string {
  return status === "completed" && stopReason === "interrupted" ? stopReason : status;
}

/** Returns the sum that is known. A turn that was cut off before the provider stated its tokens adds none. */
export function knownTokens({ tokensTotal, hasUncountedTokens }: WireSession): string {
  if (!hasUncountedTokens) return groupedNumber(tokensTotal);
  return tokensTotal === 0 ? "unknown" : `at least ${groupedNumber(tokensTotal)}`;
}
