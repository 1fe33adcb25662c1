/**
 * The records' part for subagents: their turns, and the mailbox in which a session receives their results (A1, A2).
 *
 * This part only reads. `turns.finish` puts a message into the mailbox, `turns.open` takes messages out, and the end of the
 * turn that took them delivers them or makes them wait again. A driver numbers the messages of a session from 1.
 */
import type { MailboxMessage } from "../domain/mailbox.ts";
import type { Turn } from "../domain/turn.ts";

export interface SubagentRecords {
  /** Returns turns of the session's subagents, or of one of them, newest first. */
  listTurns(sessionId: string, page: { subagentId?: string; limit: number }): Promise<Turn[]>;
  /** Returns messages by ascending number. */
  listMail(sessionId: string, page: MailboxPage): Promise<MailboxMessage[]>;
}

export interface MailboxPage {
  limit: number;
  /** Selects only greater numbers. */
  after?: number;
  /** True selects only messages that no turn has taken. */
  waiting?: boolean;
}
