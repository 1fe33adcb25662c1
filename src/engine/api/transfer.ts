/** Comparing, verifying, exporting and importing sessions (D1, D2). */
import type { TurnDiff, VerifyReport } from "./explanation.ts";
import type { Caller } from "../../domain/caller.ts";

export interface Explain {
  /** What the model saw differently in two turns, and what it answered (D1). */
  diff(caller: Caller, turns: { a: string; b: string }): Promise<TurnDiff>;
  /** Recomputes the digests of a session, oldest turn first, and names the first turn that does not hold (D2). */
  verify(caller: Caller, sessionId: string, onTurn?: (done: number, total: number) => void): Promise<VerifyReport>;
}

export interface Transfer {
  /**
   * A session, or the branch that ends at a turn, as the lines of one file that any aptove reads (docs/formats/export.md),
   * without their line breaks. What cannot be given back whole throws, with the first line or later.
   */
  export(caller: Caller, what: { sessionId: string } | { turnId: string }): AsyncIterable<string>;
  /**
   * Ids and digests are kept; importing twice changes nothing. Throws `import_invalid`, `import_conflict`, `import_newer`,
   * `session_busy`, `session_archived`: then nothing was changed.
   */
  import(caller: Caller, lines: AsyncIterable<string>): Promise<ImportReport>;
  /** For reading, not for importing. */
  markdown(caller: Caller, sessionId: string): Promise<string>;
}

export interface ImportReport {
  sessions: { id: string; name: string; isNew: boolean }[];
  turnsImported: number;
  turnsKnown: number;
  blobsImported: number;
}
