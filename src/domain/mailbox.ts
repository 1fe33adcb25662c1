/**
 * The mailbox of a session (A2): one message for every turn of a subagent that ended. It is put there in the transaction
 * that ends the turn, and is delivered once: to the turn that took it and ended well. A turn that fails gives back what
 * it had taken.
 */
import type { Millis } from "./ids.ts";

export type MailboxKind = "subagent_result" | "subagent_failed";

/** A message before the store has given it its place. */
export interface MailboxDraft {
  /** The subagent's turn that ended; no turn has two messages. */
  turnId: string;
  sessionId: string;
  kind: MailboxKind;
  subagentId: string;
  name: string;
  createdAt: Millis;
}

export interface MailboxMessage extends MailboxDraft {
  /** Its place in the session's mailbox, from 1: the order of delivery. */
  number: number;
  /** The turn that has it: one that still runs, or to which it was delivered. Null: it waits. */
  takenBy: string | null;
  /** When that turn ended well; null: not yet. */
  deliveredAt: Millis | null;
}

/** What the manifest of a turn says of a message that the model was given. */
export interface MailboxRef {
  turnId: string;
  subagentId: string;
  kind: MailboxKind;
  /** SHA-256 of the text as it was given. */
  contentHash: string;
}
