/** A content as it is stored, and what is unpacked from it. */
import { AptoveError, failureOf } from "../../../../domain/errors.ts";
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

export interface ContentOwner {
  turn_id: string;
  session_id: string;
}

export interface SeedBlobs {
  state: Part;
  others: Part;
}

export const noSeed: Seed = { id: null, row: emptyPart, blobs: null };

/** `owner` is the turn whose content it is. Undefined: no turn has it. */
export function damagedContent(
  { id, owner }: { id: number; owner: ContentOwner | undefined },
  cause: unknown,
): AptoveError {
  const why = typeof cause === "string" ? cause : failureOf(cause).message;
  const what =
    owner === undefined ? `the content ${id}` : `the content of turn ${owner.turn_id} of session ${owner.session_id}`;
  return new AptoveError("records_damaged", `${what} is damaged: ${why}`, { cause });
}
