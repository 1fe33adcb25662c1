/**
 * The records' part for removing history, and for finding the blobs that no turn needs any more (S6, K4).
 *
 * A driver must check and delete in one transaction: a fork that starts from a turn of the session at the same moment either
 * keeps that turn or is refused.
 */
import type { Millis } from "../domain/ids.ts";
import type { Session } from "../domain/session.ts";
import type { Turn } from "../domain/turn.ts";

export interface PurgeRecords {
  /**
   * Returns the turns of the session that other sessions need: parents of their turns, their origins, and all ancestors of
   * these within this session (S6). The order is undefined.
   */
  sharedTurnIds(sessionId: string): Promise<string[]>;
  /**
   * Deletes the turns of a session whose ids are not in `kept`, with their steps, texts and idempotency keys. It empties the
   * mailbox, and deletes the log of head moves and the summaries of the session and of the deleted turns (M5). A head that was deleted becomes null. The sums of
   * the session become those of the turns that are left: an import that brings the others back adds what they used. The numbers of
   * deleted turns are not given again, so its last number stays. A session without any turn left is deleted.
   * Returns false and changes nothing if a turn runs, also a subagent's, or if other sessions need a turn that is not kept.
   * Returns true if there is no such session, because nothing of it is left. With `removedAt`, the time at which the caller saw that
   * the session was removed, it also returns false if the session was restored, or removed again, in the meantime.
   */
  purgeSession(sessionId: string, kept: readonly string[], removedAt?: Millis): Promise<boolean>;
  /** Returns those of the ids that belong to a stored turn. The order is undefined. */
  existingTurnIds(ids: readonly string[]): Promise<string[]>;
  /** Returns the keys of all blobs that a turn, its steps and the summaries through it name, each once. Returns an empty list for an unknown turn. */
  blobKeysOf(turnId: string): Promise<string[]>;
}

/** Returns the sums of a session of which only these turns are left. Every driver adds in the order of their numbers. */
export function sumsOfKept(turns: readonly Turn[]): Pick<Session, "tokensTotal" | "costUsd"> {
  const sums = { tokensTotal: 0, costUsd: 0 };
  for (const turn of turns.toSorted((a, b) => a.sequence - b.sequence)) {
    if (turn.status === "pending") continue;
    sums.tokensTotal += turn.run.usage.total;
    sums.costUsd += turn.run.usage.costUsd ?? 0;
  }
  return sums;
}
