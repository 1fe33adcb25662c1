/**
 * The records' part for search (S8): which sessions contain all of the words, and where.
 *
 * A driver searches names, labels, metadata (`detailTexts`), completed summaries (`summaryText`) and the texts that `turns.finish` and `imports.insert` received, in the sessions that
 * `sessions.list` would show. `search-text.ts` has what all drivers must do alike: how letters are compared, which matches are
 * reported, and how an excerpt is cut. A driver may use any index, or none.
 */
import type { Session } from "../domain/session.ts";

export interface SearchRecords {
  /** Returns the newest activity first; sessions of the same time by id, descending. */
  find(query: TextQuery): Promise<TextHit[]>;
}

/** The whole texts of a turn. They serve search only: a NUL or a lone surrogate may come back as U+FFFD. */
export interface TurnText {
  instruction: string;
  answer: string;
}
export interface TextQuery {
  orgId: string;
  userId: string;
  /** Selects only sessions of this workspace. */
  workspaceId?: string;
  /**
   * The words to find, at most `limits.searchWordsMax`. Each of them must be in the session: in its name, a label, its metadata, a summary, an instruction or an answer. They
   * are plain text, and case does not count. Empty words are ignored; if there is no word, nothing is found.
   */
  words: string[];
  limit: number;
}
/** A session that contains all of the words. */
export interface TextHit {
  session: Session;
  /** The newest match of each word, and a few more: the name first, then the newest turn. */
  matches: TextMatch[];
}
export interface TextMatch {
  where: "name" | "label" | "metadata" | "summary" | "instruction" | "answer";
  /** The turn; the last one of its range if it is a summary. Null for what belongs to the session itself: its name, labels and metadata. */
  turnId: string | null;
  /** The text around the first word, on one line. `…` marks where it was cut. */
  excerpt: string;
}
