/**
 * The records' part for imports: sessions and finished turns from another store, stored here with all their ids and numbers.
 *
 * A driver writes an import in one transaction and reads `turns` only once, so it cannot repeat an import by itself. Imported
 * turns do not make their authors participants of a session (S7): this store did not see who made them.
 */
import type { MailboxMessage } from "../domain/mailbox.ts";
import type { Session } from "../domain/session.ts";
import type { Step } from "../domain/step.ts";
import type { EndedSummary } from "../domain/summary.ts";
import type { ArchivedTurn, FinishedTurn, TurnStatus } from "../domain/turn.ts";
import type { TurnText } from "./search.ts";

export interface ImportRecords {
  insert(imported: ImportedRecords): Promise<ImportResult>;
}

export interface ImportedRecords {
  /** New sessions, with head, counts and times as they are after the import. */
  sessions: Session[];
  growths: SessionGrowth[];
  /** Stored turns that imported turns need. They exist until the transaction ends (S6). */
  parents: string[];
  /** Parents come before their children. It is read once, to the end or to its first error, which undoes everything. */
  turns: AsyncIterable<ImportedTurn>;
  /**
   * Messages in the order in which they are added to the mailboxes. If a message exists already, only the fact that it was
   * delivered is copied (A2).
   */
  mail?: readonly ImportedMessage[];
  /**
   * Summaries of the imported sessions and of stored ones (M5). What they used is added to the sums of their sessions. One that
   * exists already is not changed.
   */
  summaries?: readonly EndedSummary[];
}
export type ImportedMessage = Omit<MailboxMessage, "number">;
export interface ImportedTurn {
  turn: FinishedTurn | ArchivedTurn;
  steps: Step[];
  text: TurnText;
}
/** How imported turns change a session that is stored already. */
export interface SessionGrowth {
  sessionId: string;
  /** The session as the caller saw it. It must be unchanged, and be neither archived nor deleted. */
  seen: { lastSequence: number; headTurnId: string | null };
  headTurnId: string | null;
  lastSequence: number;
  lastTurnStatus: TurnStatus | null;
  lastTurnAt: number | null;
  activeAt: number;
  /** The next two fields are added to the session's sums. */
  tokens: number;
  costUsd: number;
}
/** `changed`: a new session or turn exists already, or a session or parent is not as the caller saw it, or the session
 * of a summary is not stored any more. Nothing was written. */
export type ImportResult = { outcome: "imported" } | { outcome: "changed" };
