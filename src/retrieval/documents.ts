/**
 * The contract for the search in documents that people attached and that are too long to be sent whole (M8). They are split and
 * ranked as a repository is, but belong to the turns that have them, not to an index.
 *
 * A driver must do the following.
 * - `search` returns at most `candidates` chunks of these documents and no others, best first, in the order in which a retriever
 *   would return them (Q3). A question that matches nothing well finds nothing. It may throw what reading a document throws, and
 *   `retrieval_failed`.
 * - A chunk has the lines of the document, and `document` is the SHA-256 of the document. Chunks of equal text under one name have
 *   the same id in every process.
 * - A document whose content is not text has no chunks.
 * - What it keeps between two questions is bounded, and never serves a document that the question does not name.
 */
import type { RetrievedChunk } from "./retriever.ts";

export interface DocumentSearch {
  search(query: DocumentQuery): Promise<RetrievedChunk[]>;
}

export interface DocumentQuery {
  text: string;
  /** The documents, each with a name of its own. */
  documents: readonly LongDocument[];
  candidates: number;
}

export interface LongDocument {
  name: string;
  /** SHA-256 of the content. */
  sha256: string;
  /** Returns the text, or null if the content is not text. */
  read(): Promise<string | null>;
}
