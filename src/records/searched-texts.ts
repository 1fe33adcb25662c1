/** Search in a record store (S8): what is looked through, what is asked, and what is found. */
import type { Session } from "../domain/session.ts";

/** The whole texts of a turn. For search only: a NUL or a lone surrogate may come back as U+FFFD. */
export interface TurnText {
  instruction: string;
  answer: string;
}
export interface TextQuery {
  orgId: string;
  userId: string;
  /** Only sessions of this workspace. */
  workspaceId?: string;
  /**
   * At most `limits.searchWordsMax`. All of them must be found somewhere in the session: in its name, an instruction or an
   * answer. Plain text; case does not count. Empty ones do not count either, and without any word nothing is found.
   */
  words: string[];
  limit: number;
}
/** A session that has all the words, and where; newest activity first, equal times by id, descending. */
export interface TextHit {
  session: Session;
  /** The newest place of each word, and a few more: the name first, then from the newest turn. */
  matches: TextMatch[];
}
export interface TextMatch {
  where: "name" | "instruction" | "answer";
  /** Null for the name. */
  turnId: string | null;
  /** The text around the first word in this place, on one line; `…` stands where it was cut. */
  excerpt: string;
}
