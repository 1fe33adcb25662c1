/**
 * The mailbox of a session (A2). It has one message for every turn of a subagent that ended. The transaction that ends
 * the turn also stores the message. Each message is delivered once, to a turn that takes it and ends well. A turn that
 * fails gives back the messages that it took.
 */
import type { Millis } from "./ids.ts";

export type MailboxKind = "subagent_result" | "subagent_failed";

/** A message before the store has numbered it. */
export interface MailboxDraft {
  /** The subagent's turn that ended. No turn has two messages. */
  turnId: string;
  sessionId: string;
  kind: MailboxKind;
  subagentId: string;
  name: string;
  createdAt: Millis;
}

export interface MailboxMessage extends MailboxDraft {
  /** The number of the message in the mailbox of the session, from 1. Messages are delivered in this order. */
  number: number;
  /** The turn that took the message: it still runs, or the message was delivered to it. Null: the message waits. */
  takenBy: string | null;
  /** The time at which that turn ended well. Null until then. */
  deliveredAt: Millis | null;
}

/** A message that the model received, as the manifest of the turn keeps it. */
export interface MailboxRef {
  turnId: string;
  subagentId: string;
  kind: MailboxKind;
  /** SHA-256 of the text that the model received. */
  contentHash: string;
}
