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
}

/** A chunk as the manifest of a turn keeps it (T4, Q4). */
export interface ChunkRef {
  id: string;
  path: string;
  startLine: number;
  endLine: number;
  contentHash: string;
  wasSent: boolean;
  /** The reason why it was not sent: the model already has the chunk, or the whole file that contains it (Q4, X6). */
  notSentBecause?: "already_sent" | "active_file";
}
