/**
 * The contract for the bytes of a workspace's transcripts (W4): `session.md` of its current session, one file more for
 * each session that was current before, and the notes that say how far each was written. A store knows no Markdown:
 * what the bytes mean is in transcript/.
 *
 * What a driver must do:
 * - A workspace is named by its id; what is none is `workspace_invalid`. One that is not there has no files, and what
 *   would write to it is `workspace_unknown`: nothing brings a deleted workspace back.
 * - What a call has written is there when it resolves, and survives kill -9 and power loss (B3). `write` and `move` are
 *   atomic; `append` may leave a beginning of what it was given.
 * - A file belongs to people too: it may change, come and go between any two calls. Its `stamp` is another one then,
 *   and whoever wrote a file gets the stamp that it has of that.
 * - All that writes is called within `locked`, which holds the transcripts of one workspace over processes (B4).
 * - A full device is `storage_full`; every other fault of the medium is `storage_failed`, and so is a name that is none.
 */

import { AptoveError } from "../domain/errors.ts";
import type { Millis } from "../domain/ids.ts";

export interface TranscriptStore {
  /** Runs the body while nobody else has the workspace's transcripts. Throws `workspace_unknown`, `workspace_busy`. */
  locked<T>(workspaceId: string, body: () => Promise<T>): Promise<T>;
  /** Null: there is no such file. */
  stat(workspaceId: string, name: string): Promise<TranscriptFile | null>;
  /** `content` is null where the file has more than `limits.transcriptBytesMax` bytes, or is no plain file: then nothing of it is read. */
  read(workspaceId: string, name: string): Promise<(TranscriptFile & { content: Uint8Array | null }) | null>;
  /** Adds to the end of the file that has this stamp. Null: it is not that one any more, and nothing was added. */
  append(
    workspaceId: string,
    name: string,
    added: { stamp: string; content: Uint8Array },
  ): Promise<TranscriptFile | null>;
  /** Replaces the whole file, or makes it. With a stamp only the file that has it: null, and nothing is done, where it is not that one any more. */
  write(
    workspaceId: string,
    name: string,
    whole: { stamp?: string; content: Uint8Array },
  ): Promise<TranscriptFile | null>;
  /** Gives a file another name, which nothing has; a name that is taken, or a file that is not there, is `storage_failed`. */
  move(workspaceId: string, from: string, to: string): Promise<TranscriptFile>;
  /** A file that is not there is no error. */
  remove(workspaceId: string, name: string): Promise<void>;
  /** Every transcript of the workspace, and the notes. */
  removeAll(workspaceId: string): Promise<void>;
}

export interface TranscriptFile {
  bytes: number;
  /** Opaque; another one after every change. */
  stamp: string;
}

/** The transcript of the current session. */
export const currentName = "session.md";
/** How far each transcript was written. */
export const notesName = "transcripts.json";
const asideFolder = "sessions";

/** The transcript of a session that is not the current one. */
export function asideName(sessionId: string): string {
  return `${asideFolder}/${sessionId}.md`;
}

/** What was at `name` and is neither written nor read any more; kept for the person (W5). `number` tells those of one moment apart. */
export function keptName(
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

/** For drivers: throws `storage_failed` for what is not the name of a transcript or of the notes. */
export function checkTranscriptName(name: string): void {
  if (!isTranscriptName(name))
    throw new AptoveError("storage_failed", `${JSON.stringify(name)} is not the name of a transcript`);
}
