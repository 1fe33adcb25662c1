/**
 * The records' part for removing history, and for finding the blobs that no turn needs any more (S6, K4).
 *
 * A driver must check and delete in one transaction: a fork that starts from a turn of the session at the same moment either
 * keeps that turn or is refused.
 */
export interface PurgeRecords {
  /**
   * Returns the turns of the session that other sessions need, in no order: parents of other sessions' turns, origins of other
   * sessions, and all ancestors of these within this session (S6).
   */
  sharedTurnIds(sessionId: string): Promise<string[]>;
  /**
   * Deletes the turns of a session whose ids are not in `kept`, with their steps, texts and idempotency keys. It empties the
   * mailbox and forgets the head moves. A head that was deleted becomes null. A session without any turn left is deleted.
   * Returns false and changes nothing if a turn runs, also a subagent's, or if other sessions need a turn that is not kept.
   * Returns true if there is no such session: nothing is left of it.
   */
  purgeSession(sessionId: string, kept: readonly string[]): Promise<boolean>;
  /** Returns those of the ids that belong to a stored turn, in no order. */
  existingTurnIds(ids: readonly string[]): Promise<string[]>;
  /** Returns the keys of all blobs that a turn and its steps name, each once. None for an unknown turn. */
  blobKeysOf(turnId: string): Promise<string[]>;
}
