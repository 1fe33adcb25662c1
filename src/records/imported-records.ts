/** What an import hands to a record store: sessions and finished turns, taken over as they are. */
import type { MailboxMessage } from "../domain/mailbox.ts";
import type { Session } from "../domain/session.ts";
import type { Step } from "../domain/step.ts";
import type { ArchivedTurn, FinishedTurn, TurnStatus } from "../domain/turn.ts";
import type { TurnText } from "./searched-texts.ts";

export interface ImportedRecords {
  /** New ones, with head, counts and times as they are after the import. */
  sessions: Session[];
  growths: SessionGrowth[];
  /** Turns that are stored and that imported ones rest on: they are there until the transaction ends (S6). */
  parents: string[];
  /** Parents before their children. Read once, to the end or to its first error, which undoes everything. */
  turns: AsyncIterable<ImportedTurn>;
  /** In the order in which they are put behind what is in the mailboxes; of one that is there already, only that it was delivered (A2). */
  mail?: readonly ImportedMessage[];
}
export type ImportedMessage = Omit<MailboxMessage, "number">;
export interface ImportedTurn {
  turn: FinishedTurn | ArchivedTurn;
  steps: Step[];
  text: TurnText;
}
/** What imported turns make of a session that is stored already. */
export interface SessionGrowth {
  sessionId: string;
  /** The session must be as it was seen, neither archived nor deleted. */
  seen: { lastSequence: number; headTurnId: string | null };
  headTurnId: string | null;
  lastSequence: number;
  lastTurnStatus: TurnStatus | null;
  lastTurnAt: number | null;
  activeAt: number;
  /** Added to the session's sums. */
  tokens: number;
  costUsd: number;
}
/** `changed`: a new session or turn is there already, or a session or parent is not as it was seen. Nothing was written. */
export type ImportResult = { outcome: "imported" } | { outcome: "changed" };
