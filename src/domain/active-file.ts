/** Files of the working copy that a person sends with an instruction (X1–X6). */
import { limits } from "./limits.ts";

/** A file as the caller sends it. A file without content names a version that was sent earlier (X4). */
export interface ActiveFile {
  path: string;
  content: Uint8Array | null;
  /**
   * SHA-256 of the raw bytes. It is required if there is no content, and is checked against the content if there is.
   */
  sha256: string | null;
  /** True if the file differs from its version in git. */
  isTouched: boolean;
  /** True if the file was deleted (X6). It then has neither content nor a SHA-256. */
  isDeleted?: boolean;
  /** The new path of a deleted file that was renamed. */
  renamedTo?: string;
}

/** The file as the manifest of a turn keeps it (T4). */
export interface ActiveFileRef {
  path: string;
  contentHash: string;
  sizeBytes: number | null;
  isTouched: boolean;
  wasSentToLLM: boolean;
  wasTooLargeToSend: boolean;
}

/**
 * The reasons why the model did not receive a file. `over_budget`: it waits, because other files come first (X8). `deleted`: the file does not exist any more. `outdated`: a note for
 * the model says that the version which it has no longer counts (X6).
 */
export const skipReasons = ["too_large", "over_budget", "content_missing", "deleted", "outdated"] as const;

/** A file that the model did not receive, and the reason. */
export interface SkippedFile {
  path: string;
  reason: (typeof skipReasons)[number];
  sizeBytes: number | null;
}

/** A file as the working copy has it now. */
export interface FileNow {
  /** SHA-256 of the raw bytes. Null if the file is too large to be read. */
  hash: string | null;
  /** The text as the index reads it. Null if the file is not text, or too large. */
  text: string | null;
}

export interface WorkingCopy {
  /** The folder, on this machine. Absent: its index is not brought up to date. */
  readonly root?: string;
  /** Returns the file, or null if there is no regular file at the path. Never follows a link. Never rejects. */
  look(path: string): Promise<FileNow | null>;
}

/**
 * Returns the working copy in a folder of this machine. Null if the folder does not exist, or is below the top of its
 * repository: then the paths of the index are others.
 */
export type OpenWorkingCopy = (folder: string) => WorkingCopy | null;

/** Returns why a path is refused (X5), or null if it is accepted. */
export function pathFault(path: string): string | null {
  if (path === "") return "is empty";
  if (path.includes("\u0000")) return "contains a NUL";
  if (!path.isWellFormed()) return "contains half a surrogate pair";
  if (path.includes("\\")) return "contains a backslash; use forward slashes";
  if (path.startsWith("/")) return "is absolute; send it relative to the repository";
  if (/^[a-zA-Z]:/.test(path)) return "has a drive letter; send it relative to the repository";
  const segments = path.split("/");
  if (segments.includes("..")) return 'leaves the repository by ".."';
  if (segments.some((segment) => segment === "" || segment === ".")) return "has an empty segment";
  // A line break would let a path forge lines of the context block.
  if (/[\p{Cc}\u2028\u2029]/u.test(path)) return "contains a control character";
  return null;
}

/** Returns the text of a file, or null if its bytes are not UTF-8 text (X5). */
export function decodeText(content: Uint8Array): string | null {
  if (content.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}

/** Returns true if a file of this size is listed instead of sent (X2). */
export function isTooLarge(sizeBytes: number): boolean {
  return sizeBytes > limits.activeFileBytesMax;
}
