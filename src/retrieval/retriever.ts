/**
 * The contract for retrieval: an index of repositories and a search in it (Q1–Q6). A driver finds; the
 * engine chooses which of the findings the model gets.
 *
 * What a driver must do:
 * - `search` gives at most `candidates` chunks, best first: lexical and vector search over the same filters,
 *   fused by reciprocal rank (Q3). The same question on the same index gives the same order. It may throw
 *   an AptoveError `index_missing`, `index_mismatch`, `data_newer` or `retrieval_failed`, and nothing else.
 * - `index` reads what git tracks and touches only files whose hash changed; an unchanged chunk keeps its id; a
 *   run that fails, is aborted or is killed leaves the former index whole (Q2). Searches go on meanwhile, and
 *   see the new index as soon as it is there, in every process (B4). It may throw `repository_invalid`,
 *   `index_mismatch` (a rebuild fixes it), `data_newer`, `retrieval_failed`, `storage_full` or `storage_failed`; an aborted
 *   run throws the signal's reason.
 * - An index is an organisation's own: whoever asks for another sees neither its chunks nor that it is there (H4).
 *   The same name in two organisations is two indexes.
 * - Workspace ids are not stored (Q1).
 */
import type { Chunk } from "../domain/chunk.ts";

export interface Retriever {
  search(query: RetrievalQuery): Promise<RetrievedChunk[]>;
  index(job: IndexJob): Promise<IndexSummary>;
  /** The indexes of an organisation, one per repository, by name. */
  list(orgId: string): Promise<IndexInfo[]>;
  close(): Promise<void>;
}

export interface RetrievalQuery {
  text: string;
  /** Whose index; it comes from the caller, never from a request's body (H4). */
  orgId: string;
  repo: string;
  /** Filters; absent: no filter. `pathPrefixes` are files or folders, and a chunk is in any of them. */
  language?: string;
  pathPrefixes?: string[];
  candidates: number;
}

export interface RetrievedChunk extends Chunk {
  /** Fused score; only the order means something. */
  score: number;
}

export interface IndexJob {
  /** The folder of the working copy. */
  root: string;
  orgId: string;
  repo: string;
  /**
   * Index what this commit holds, whatever the working copy says: a name that git knows, `HEAD` for example.
   * Absent: the files of the working copy as they are.
   */
  commit?: string;
  /** Called for every file or so; whoever shows it decides how often. */
  onProgress?: (progress: IndexProgress) => void;
  signal?: AbortSignal;
  /** Throws away what is there and indexes everything again (Q6). */
  rebuild?: boolean;
}

export interface IndexProgress {
  phase: "listing" | "chunking" | "writing";
  filesDone: number;
  filesTotal: number;
  bytesDone: number;
}

export interface IndexSummary {
  repo: string;
  /** What was indexed, or what the working copy stood on; null before the first commit. */
  commit: string | null;
  /** Files that are indexed after the run. */
  filesTotal: number;
  /** New ones, and those with another content than before. */
  filesChanged: number;
  filesRemoved: number;
  /** Tracked files that are not UTF-8 text, and those over the limit of size (Q1). */
  skippedBinary: number;
  skippedLarge: number;
  chunksTotal: number;
  chunksWritten: number;
  bytesRead: number;
  durationMs: number;
}

export interface IndexInfo {
  repo: string;
  root: string;
  commit: string | null;
  files: number;
  chunks: number;
  embedding: { model: string; dimension: number };
  indexedAt: number;
}
