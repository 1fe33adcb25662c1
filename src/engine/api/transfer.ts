/** Comparing, verifying, exporting and importing sessions (D1, D2). */
import type { SessionSize, SizeOverview } from "./history-size.ts";
import type { TurnDiff, VerifyAllReport, VerifyReport } from "./explanation.ts";
import type { Caller } from "../../domain/caller.ts";

/** Comparing two turns, and verifying a session. */
export interface Explanations {
  /**
   * Returns what differs between two turns: what the model received, and what it answered. The caller must be able to
   * see both turns (D1). Throws `not_found`, `turn_not_finished`.
   */
  diff(caller: Caller, turns: { a: string; b: string }): Promise<TurnDiff>;
  /**
   * Recomputes the digests of a session, oldest turn first, and returns the first turn that does not match (D2). Calls
   * `onTurn` after each batch of turns. Throws `not_found`.
   */
  verify(caller: Caller, sessionId: string, onTurn?: (done: number, total: number) => void): Promise<VerifyReport>;
  /**
   * Returns the room that a session takes, and that of its newest turns before the number `before` (B7). It reads the size of every turn. Throws
   * `not_found`.
   */
  size(caller: Caller, sessionId: string, page?: { before?: number; limit?: number }): Promise<SessionSize>;
  /** Returns the room of all sessions that the caller may see, and the largest of them (B7). It reads the size of every turn. */
  sizes(caller: Caller, page?: { limit?: number }): Promise<SizeOverview>;
  /**
   * Reads every stored turn of all orgs and checks it: its blobs, its boot prompt, its digest (B3, D2). Calls `onTurn` after each.
   * Only an admin of the server's first org may do this. Throws `forbidden`.
   */
  verifyAll(caller: Caller, onTurn?: (checked: number) => void): Promise<VerifyAllReport>;
}

/** Exporting and importing sessions. */
export interface SessionTransfer {
  /**
   * Returns a session, or the branch that ends at a turn, as the lines of one export file, without line breaks
   * (docs/formats/export.md). Throws `not_found`. If the content cannot be exported completely, the iterable throws, at
   * its first line or at a later one.
   */
  export(caller: Caller, what: { sessionId: string } | { turnId: string }): AsyncIterable<string>;
  /**
   * Imports an export file. Ids and digests are kept, and a second import of the same file changes nothing. If it
   * throws, nothing was changed. Throws `forbidden` for a reader, `import_invalid`, `import_conflict`, `import_newer`,
   * `session_busy`, `session_archived`.
   */
  import(caller: Caller, lines: AsyncIterable<string>): Promise<ImportReport>;
  /** Returns a session as Markdown, for people to read. It cannot be imported. Throws `not_found`. */
  markdown(caller: Caller, sessionId: string): Promise<string>;
}

/** What an import added, and what was there before. */
export interface ImportReport {
  sessions: { id: string; name: string; isNew: boolean }[];
  turnsImported: number;
  turnsKnown: number;
  blobsImported: number;
}
