/**
 * The contract for the bytes of a workspace's transcripts (W4): `session.md` of its current session, one more file for each
 * session that was current before, and the notes about how far each was written. A store does not parse Markdown; the
 * folder transcript/ does.
 *
 * What a driver must do:
 * - A workspace is named by its id; an invalid id throws `workspace_invalid`. A workspace that does not exist has no files,
 *   and writing to it throws `workspace_unknown`. Nothing recreates a deleted workspace.
 * - When a call resolves, every process reads its change, and the change survives kill -9 (B3). No call but `sync` waits
 *   for the disk: a loss of power may undo what was changed since the last `sync`. `write` and `move` are atomic. After
 *   a crash, `append` may have written only a beginning of its content.
 * - People may edit the files too: a file may change, appear and disappear between any two calls. Its `stamp` changes
 *   with every change. A call that writes a file returns the new stamp.
 * - All methods that write are called within `locked`, which locks the transcripts of one workspace across processes (B4).
 * - A full device throws `storage_full`. Every other failure of the medium, and an invalid name, throw `storage_failed`.
 */

import { AptoveError } from "../domain/errors.ts";
import type { Millis } from "../domain/ids.ts";

export interface TranscriptStore {
  /** Runs the body while it holds the lock on the workspace's transcripts. Throws `workspace_unknown`, `workspace_busy`. */
  locked<T>(workspaceId: string, body: () => Promise<T>): Promise<T>;
  /** Returns the facts of a file. Null if there is no such file. */
  stat(workspaceId: string, name: string): Promise<TranscriptFile | null>;
  /** Reads a file. `content` is null, and nothing is read, if the file has more than `limits.transcriptBytesMax` bytes or is not a regular file. */
  read(workspaceId: string, name: string): Promise<(TranscriptFile & { content: Uint8Array | null }) | null>;
  /** Appends to the file if it has this stamp. If not, returns null and appends nothing. */
  append(
    workspaceId: string,
    name: string,
    added: { stamp: string; content: Uint8Array },
  ): Promise<TranscriptFile | null>;
  /**
   * Replaces the whole file, or makes it. With a stamp: only if the file has that stamp; with null: only if there is no file. If not,
   * returns null and writes nothing.
   */
  write(
    workspaceId: string,
    name: string,
    whole: { stamp?: string | null; content: Uint8Array },
  ): Promise<TranscriptFile | null>;
  /** Renames a file. Throws `storage_failed` if the new name is taken or the file does not exist. */
  move(workspaceId: string, from: string, to: string): Promise<TranscriptFile>;
  /** Removes a file. A missing file is no error. */
  remove(workspaceId: string, name: string): Promise<void>;
  /** Resolves when all changes that this store made in the workspace survive a loss of power. No lock is needed. */
  sync(workspaceId: string): Promise<void>;
  /** Removes every transcript of the workspace, and the notes. */
  removeAll(workspaceId: string): Promise<void>;
}

export interface TranscriptFile {
  bytes: number;
  /** An opaque value that changes with every change of the file. */
  stamp: string;
}

/** The file name of the current session's transcript. */
export const currentTranscriptName = "session.md";
/** The file name of the notes about how far each transcript was written. */
export const transcriptNotesName = "transcripts.json";
const asideFolder = "sessions";

/** Returns the file name for the transcript of a session that is not the current one. */
export function asideTranscriptName(sessionId: string): string {
  return `${asideFolder}/${sessionId}.md`;
}

/** Returns the file name for a file that is no longer read or written but kept for the person (W5). `number` distinguishes files of the same moment. */
export function keptTranscriptName(
  name: string,
  { at, because, number }: { at: Millis; because: string; number: number },
): string {
  const time = new Date(at).toISOString().replace(/[:-]/g, "");
  const suffix = number === 1 ? "" : `-${number}`;
  return name.replace(/\.md$/, `.${time}${suffix}.${because}.md`);
}

const namePattern =
  /^(?:transcripts\.json|session(?:\.[A-Za-z0-9-]+)*\.md|sessions\/[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.md)$/;

export function isTranscriptName(name: string): boolean {
  return name.length <= 200 && namePattern.test(name);
}

/** Throws `storage_failed` if the text is not the name of a transcript or of the notes. Drivers call it. */
export function checkTranscriptName(name: string): void {
  if (!isTranscriptName(name))
    throw new AptoveError("storage_failed", `${JSON.stringify(name)} is not the name of a transcript`);
}
