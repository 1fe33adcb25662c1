/** The runs of an index: how far one is, what it did, and what is known about those of a repository (Q1, Q2). */
import type { ErrorCode } from "../domain/errors.ts";
import type { IndexSkipReason, UnindexedFile } from "./unindexed-file.ts";

export interface IndexProgress {
  phase: "listing" | "chunking" | "writing";
  filesDone: number;
  filesTotal: number;
  bytesDone: number;
  /** The new chunks that are written so far. */
  chunksWritten: number;
}

export interface IndexSummary {
  repo: string;
  /** The indexed commit, or the HEAD of the working copy. Null before the first commit. */
  commit: string | null;
  /** The number of indexed files after the run. */
  filesTotal: number;
  /** The number of new files, and of those whose content changed. */
  filesChanged: number;
  filesRemoved: number;
  /** The tracked files that are not indexed, each with the reason (Q1). */
  skipped: UnindexedFile[];
  chunksTotal: number;
  chunksWritten: number;
  bytesRead: number;
  /** A whole number of milliseconds. */
  durationMs: number;
}

/** The runs of one repository, in every process that shares the index. */
export interface RepositoryRuns {
  repo: string;
  /** Null: no run works on the repository now. */
  running: RunningIndex | null;
  /** The last run that was completed. Null: there was none, or it is not known. */
  done: CompletedIndex | null;
  /** The last run that was not completed: it failed, was stopped, or its process ended. */
  failed: FailedIndex | null;
}

export interface RunningIndex extends Omit<IndexProgress, "phase"> {
  /** `waiting`: another run writes the index, and this one begins after it. */
  phase: IndexProgress["phase"] | "waiting";
  startedAt: number;
  /** The id of the process that runs it. */
  pid: number;
  /** True if that is this process. */
  isHere: boolean;
  /** True if a question brings the index up to date, false if a person asked for the run. */
  isRefresh: boolean;
}

export interface CompletedIndex extends Omit<IndexSummary, "repo" | "skipped"> {
  endedAt: number;
  isRefresh: boolean;
  skipped: SkippedFiles[];
}

/** The files that were skipped for one reason: how many, and the first of their paths. */
export interface SkippedFiles {
  reason: IndexSkipReason;
  count: number;
  paths: string[];
}

export interface FailedIndex {
  endedAt: number;
  code: ErrorCode;
  message: string;
}

/** The paths that are named for each reason. */
const pathsPerReasonMax = 100;

/** Groups skipped files by their reason, the most frequent one first. */
export function skippedByReason(skipped: readonly UnindexedFile[]): SkippedFiles[] {
  return [...Map.groupBy(skipped, ({ reason }) => reason)]
    .map(([reason, files]) => ({
      reason,
      count: files.length,
      paths: files.slice(0, pathsPerReasonMax).map(({ path }) => path),
    }))
    .toSorted((a, b) => b.count - a.count);
}
