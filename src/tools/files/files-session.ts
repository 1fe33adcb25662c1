/** What the file tools of one session share: its folders, its files, and what the model has seen of them. */
import { sep, relative } from "node:path";
import { limits } from "../../domain/limits.ts";
import type { SessionFolders, Place } from "../session-folders.ts";
import { ToolFault } from "../tool-fault.ts";
import type { TextFile, TextFiles } from "./text-files.ts";

export interface FilesSession {
  folders: SessionFolders;
  texts: TextFiles;
  seen: SeenFiles;
}

/** More than a session reads; the oldest go. */
const seenMax = 10_000;

/** Which version of each file the model saw last, so that it replaces none that it does not know. */
export class SeenFiles {
  readonly #hashes = new Map<string, string>();

  note({ real }: Place, sha256: string): void {
    this.#hashes.delete(real);
    this.#hashes.set(real, sha256);
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size > seenMax && oldest !== undefined) this.#hashes.delete(oldest);
  }

  /** Throws a ToolFault where the file as it is now was never seen. */
  check({ real, shown }: Place, { sha256 }: TextFile): void {
    const last = this.#hashes.get(real);
    if (last === sha256) return;
    if (last !== undefined) throw new ToolFault(`${shown} changed since it was read; read it again`);
    throw new ToolFault(`${shown} is there, and was not read in this session; read it first, or change it with "edit"`);
  }

  /** Whether the model saw another version. */
  isStale({ real }: Place, { sha256 }: TextFile): boolean {
    const last = this.#hashes.get(real);
    return last !== undefined && last !== sha256;
  }
}

/** Throws a ToolFault for what may not be written: a hook in git's own folder would be run. */
export function mustBeWritable({ real, folder, kind, shown }: Place): void {
  if (kind === "folder") throw new ToolFault(`${shown} is a folder`);
  if (kind === "other") throw new ToolFault(`${shown} is not a regular file`);
  const names = relative(folder, real).split(sep);
  if (names.some((name) => name.toLowerCase() === ".git")) {
    throw new ToolFault(`${shown} is git's own; use git commands to change what is in there`);
  }
}

/** Throws a ToolFault for the content of a file that could not be read again. */
export function mustFit(content: string): void {
  const bytes = Buffer.byteLength(content);
  if (bytes <= limits.toolFileBytesMax) return;
  throw new ToolFault(`the content has ${bytes} bytes; at most ${limits.toolFileBytesMax} can be written`);
}
