/** The state that the file tools of one session share: its folders, its files, and the versions that the model has read. */
import { sep } from "node:path";
import { limits } from "../../domain/limits.ts";
import type { CallIdentity } from "../described-tool.ts";
import type { SessionFolders, SessionPath } from "../session-folders.ts";
import { shownPath } from "../shown-text.ts";
import { ToolFault } from "../tool-fault.ts";
import type { TextFile, TextFiles } from "./text-files.ts";

export interface FileToolsSession {
  folders: SessionFolders;
  texts: TextFiles;
  seen: SeenFiles;
  shown: ShownVersions;
}

/** The most files that are remembered, which is more than a session reads. The oldest are forgotten. */
const seenMax = 10_000;

/** Remembers which version of each file the model saw last, so that it replaces no version that it does not know. */
export class SeenFiles {
  readonly #hashes = new Map<string, string>();

  note({ real }: SessionPath, sha256: string): void {
    this.#hashes.delete(real);
    this.#hashes.set(real, sha256);
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size > seenMax && oldest !== undefined) this.#hashes.delete(oldest);
  }

  /** Throws a ToolFault if the model has not seen the current version of the file. */
  check({ real, shown }: SessionPath, { sha256 }: TextFile): void {
    const last = this.#hashes.get(real);
    if (last === sha256) return;
    if (last !== undefined) throw new ToolFault(`${shown} changed since it was read; read it again`);
    throw new ToolFault(`${shown} exists, but was not read in this session; read it first, or change it with "edit"`);
  }

  /** Returns true if the model saw another version. */
  isStale({ real }: SessionPath, { sha256 }: TextFile): boolean {
    const last = this.#hashes.get(real);
    return last !== undefined && last !== sha256;
  }
}

/**
 * Remembers which version of its file each call was shown with. A person may take long to answer, and the change that they
 * allow must be the one that is made.
 */
export class ShownVersions {
  readonly #versions = new WeakMap<CallIdentity, string | null>();

  /** The version is null if there is no file. */
  note(call: CallIdentity, file: TextFile | null): void {
    this.#versions.set(call, file?.sha256 ?? null);
  }

  /** Throws a ToolFault if the call was shown with another version of the file. */
  check(call: CallIdentity, { shown }: SessionPath, file: TextFile | null): void {
    const version = this.#versions.get(call);
    if (version === undefined || version === (file?.sha256 ?? null)) return;
    throw new ToolFault(`${shown} changed after this change of it was shown; read it again`);
  }
}

/**
 * Reads the file that a call names, which may be open in the client and not exist on disk yet. `check` throws for a path that
 * the call may not use. Throws a ToolFault with similar names if the file is in neither place.
 */
export async function existingText(
  { folders, texts }: FileToolsSession,
  path: string,
  { check, signal }: { check: (target: SessionPath) => void; signal: AbortSignal },
): Promise<{ target: SessionPath; file: TextFile }> {
  const target = await folders.resolve(path);
  check(target);
  const file = await texts.readIfPresent(target, signal);
  if (file !== null) return { target, file };
  await folders.resolveExisting(path);
  throw new ToolFault(`${target.shown} was made in the meantime; try again`);
}

/** Throws a ToolFault for a path whose form names a folder. Resolving it removes the slash, and a file would be made in place of the folder. */
export function checkNamesFile(path: string): void {
  if (!path.endsWith("/") && !path.endsWith(sep)) return;
  throw new ToolFault(`${shownPath(path)} names a folder, because it ends with a slash; name the file`);
}

/** Throws a ToolFault for a path that may not be written. Git's own folder is protected because git runs hooks that are stored there. */
export function checkWritable({ real, kind, shown }: SessionPath): void {
  if (kind === "folder") throw new ToolFault(`${shown} is a folder`);
  if (kind === "other") throw new ToolFault(`${shown} is not a regular file`);
  // All names count, also those of the session's own folder: it may have been opened inside of git's.
  const names = real.split(sep);
  if (names.some((name) => name.toLowerCase() === ".git")) {
    throw new ToolFault(`${shown} is in git's own folder; use git commands to change it`);
  }
}

/** Throws a ToolFault for content that is too large to be read again. */
export function checkSize(content: string): void {
  const bytes = Buffer.byteLength(content);
  if (bytes <= limits.toolFileBytesMax) return;
  throw new ToolFault(`the content has ${bytes} bytes; at most ${limits.toolFileBytesMax} can be written`);
}
