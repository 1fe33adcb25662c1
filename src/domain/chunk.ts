/** A piece of an indexed file (Q1). Line numbers count from 1; both ends are included. */
export interface Chunk {
  id: string;
  repo: string;
  path: string;
  startLine: number;
  endLine: number;
  language: string;
  symbol: string | null;
  text: string;
  /** SHA-256 of `text`. */
  hash: string;
  commit: string | null;
  /** SHA-256 of the attached document that the chunk is a piece of; `path` is its name (M8). Absent: a file of a repository. */
  document?: string;
}

/** A chunk as the manifest of a turn keeps it (T4, Q4). */
export interface ChunkRef {
  id: string;
  path: string;
  startLine: number;
  endLine: number;
  contentHash: string;
  /** SHA-256 of the attached document; `path` is its name (M8). Absent: a file of a repository. */
  document?: string;
  wasSent: boolean;
  /** The reason why it was not sent (Q4, X6). Absent: it was sent. */
  notSentBecause?: (typeof chunkReasons)[number];
}

/**
 * The reasons why a chunk was not sent. `already_sent`: the model has it. `active_file`: the model has the whole file.
 * `outdated`: the working copy has another version of the file. `deleted`: the file does not exist any more.
 */
export const chunkReasons = ["already_sent", "active_file", "outdated", "deleted"] as const;
