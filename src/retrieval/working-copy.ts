/**
 * The contract for a working copy on this machine: what its files have now. The engine compares this with what the model has
 * and with what the index returned (X6, Q2).
 */

/** A file as the working copy has it now. */
export interface CurrentFile {
  /** SHA-256 of the raw bytes. Null if the file is too large to be read. */
  hash: string | null;
  /** The text as the index reads it. Null if the file is not text, or too large. */
  text: string | null;
}

export interface WorkingCopy {
  /** Returns the file, or null if there is no regular file at the path. Never follows a link. Never rejects. */
  look(path: string): Promise<CurrentFile | null>;
}

/**
 * Returns the working copy in a folder of this machine. Null if the folder does not exist, or is below the top of its
 * repository: then the paths of the index are others.
 */
export type OpenWorkingCopy = (folder: string) => WorkingCopy | null;
