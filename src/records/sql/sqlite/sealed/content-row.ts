/** A content as it is stored, and what is unpacked from it. */
import { AptoveError } from "../../../../domain/errors.ts";
import type { TextRow } from "../../tables.ts";
import { emptyPart, type Part } from "./parts.ts";

export type ContentText = Omit<TextRow, "session_id" | "sequence">;

export interface ContentRow extends ContentText {
  id: number;
  seed_id: number | null;
  /** Null: version 2 wrote the turn, and its row is not sealed. */
  sealed: Buffer | null;
  blobs: Buffer | null;
}

/** What a content has beside its words. */
export interface SealedRow {
  /** The document of the turn's row. */
  doc: string;
  /** The steps, as a JSON array. */
  steps: string;
}

/** A seed, or nothing. */
export interface Seed {
  id: number | null;
  row: Part;
  blobs: SeedBlobs | null;
}

export interface SeedBlobs {
  state: Part;
  others: Part;
}

export const noSeed: Seed = { id: null, row: emptyPart, blobs: null };

export function damagedContent(id: number, cause: unknown): AptoveError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AptoveError("storage_failed", `the content ${id} of the records is damaged: ${why}`, { cause });
}
