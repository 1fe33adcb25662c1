/**
 * The contract for retrieval: an index of repositories and a search in it (Q1–Q6). A driver finds chunks. The engine chooses
 * which of them the model gets.
 *
 * A driver must do the following.
 * - `search` returns at most `candidates` chunks, best first: lexical and vector search over the same filters, fused by
 *   reciprocal rank (Q3). The same question on the same index returns the same order. It may throw an AptoveError
 *   `index_missing`, `index_mismatch`, `data_newer` or `retrieval_failed`, and nothing else. If the cause is one of several
 *   repositories, the error names it in its fact `repo`, so that the caller can ask the others.
 * - `index` reads what git tracks and changes only files whose hash changed. An unchanged chunk keeps its id. A run that fails,
 *   is aborted or is killed leaves the former index unchanged (Q2). Searches continue in the meantime, and see the new index as
 *   soon as it is complete, in every process (B4). `index` may throw `repository_invalid`, `index_mismatch` (a rebuild fixes it),
 *   `data_newer`, `retrieval_failed`, `storage_full` or `storage_failed`. An aborted run throws the signal's reason.
 * - An index belongs to one organisation. A query for another organisation sees neither its chunks nor that it exists (H4).
 *   The same name in two organisations is two indexes.
 * - Workspace ids are not stored (Q1).
 * - `generation` names what a search of this index can find now: while it is the same, the same question returns the same chunks
 *   in the same order (Q7). It is never used again for other content, also not after the index was deleted and built again, and
 *   is unlike that of every other index. It throws what `search` throws.
 */
import type { Chunk } from "../domain/chunk.ts";
import type { IndexProgress, IndexSummary, RepositoryRuns } from "./index-runs.ts";

export type { IndexProgress, IndexSummary } from "./index-runs.ts";

export interface Retriever {
  search(query: RetrievalQuery): Promise<RetrievedChunk[]>;
  /** Returns the generation of an index, with far less work than a search. Absent or null: its results are not kept. */
  generation?(index: { orgId: string; repo: string }): Promise<string | null>;
  index(job: IndexJob): Promise<IndexSummary>;
  /**
   * Brings an index up to date with a working copy of this machine, before a question about it (Q2). Only one process does it
   * at a time. `missing`: there is no index, and none is made. `busy`: another run writes the index. Throws what `index` throws.
   * Absent: the index is shared, and changes only by `index`.
   */
  refresh?(copy: WorkingCopyIndex): Promise<RefreshOutcome>;
  /** Returns the indexes of an organisation, one per repository, sorted by name. */
  list(orgId: string): Promise<IndexInfo[]>;
  /**
   * Returns the runs that work on an organisation's repositories now, in whichever process, and how the last ones ended, sorted by
   * name. A repository without a known run is left out. Throws what `list` throws. Absent: they are not known.
   */
  runs?(orgId: string): Promise<RepositoryRuns[]>;
  /** Returns the paths of the files that are indexed, sorted. Throws what `search` throws. Absent: they cannot be listed. */
  paths?(index: { orgId: string; repo: string }): Promise<string[]>;
  close(): Promise<void>;
}

/** An index, and the working copy that it is to match. */
export type WorkingCopyIndex = Pick<IndexJob, "root" | "orgId" | "repo" | "ignore">;
export type RefreshOutcome = "current" | "missing" | "busy";

export interface RetrievalQuery {
  text: string;
  /** The organisation of the index. It comes from the authenticated caller, never from a request's body (H4). */
  orgId: string;
  repo: string;
  /**
   * More repositories of the organisation. All are searched as if they were one (M7): one scale, and `candidates` chunks in total. One
   * that the question does not match finds nothing (Q3). Absent: only `repo` is searched.
   */
  others?: readonly RepositoryQuery[];
  /** The preferred language. Its chunks rank higher; no chunk is left out (S9). Absent: none is preferred. */
  language?: string;
  /** A filter: files or folders, and a chunk must be in one of them. Absent: no filter. */
  pathPrefixes?: string[];
  candidates: number;
}

/** A repository that is searched, with its own filter. */
export type RepositoryQuery = Pick<RetrievalQuery, "repo" | "pathPrefixes">;

/** Returns the repositories of a query, in their order. */
export function repositoriesOf({ repo, pathPrefixes, others = [] }: RetrievalQuery): RepositoryQuery[] {
  return [{ repo, ...(pathPrefixes !== undefined && { pathPrefixes }) }, ...others];
}

export interface RetrievedChunk extends Chunk {
  /** The fused score. Only the order of scores has a meaning. */
  score: number;
}

export interface IndexJob {
  /** The folder of the working copy. */
  root: string;
  orgId: string;
  repo: string;
  /**
   * The commit to index, whatever the working copy contains: a name that git knows, for example `HEAD`. Absent: the files of the
   * working copy as they are.
   */
  commit?: string;
  /** Called about once per file. The receiver decides how often to show it. */
  onProgress?: (progress: IndexProgress) => void;
  signal?: AbortSignal;
  /** Patterns of paths that are not indexed, in the form of `.gitignore`. */
  ignore?: readonly string[];
  /** True if the run deletes the existing index and indexes everything again (Q6). */
  rebuild?: boolean;
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
