/**
 * Files that survive a crash and a power loss once they are acknowledged (B3), and files that are replaced as a whole: a
 * reader finds the old content or the new one, also after a crash.
 *
 * Only `fsync` runs on another thread. Opening, short writes, renaming and closing take microseconds in the page
 * cache, which is less than the hand-over to a thread costs. New files are 0600 and new folders 0700 (B6).
 */
import {
  closeSync,
  createWriteStream,
  fsync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  write,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { systemCode } from "./system-error.ts";

const syncFile: (file: number) => Promise<void> = promisify(fsync);
const writeOnThread = promisify(write);

/** Size in bytes up to which a file is read and written on this thread. */
export const smallFileBytesMax = 262_144;

/** Creates a file with durable content. Its name is durable after `syncFolder`. Throws EEXIST if something is there. */
export async function createDurableFile(path: string, bytes: Uint8Array): Promise<void> {
  const file = openSync(path, "wx", 0o600);
  try {
    await writeAll(file, bytes);
    await syncFile(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Creates an empty file (mode 0600) if there is none. A file that exists is not opened: closing a descriptor would drop all
 * locks that this process holds on the file, also those of SQLite.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** Writes all bytes through the descriptor. */
export async function writeAll(file: number, bytes: Uint8Array): Promise<void> {
  const isSmall = bytes.length <= smallFileBytesMax;
  for (let at = 0; at < bytes.length;) {
    at += isSmall ? writeSync(file, bytes, at) : (await writeOnThread(file, bytes, at)).bytesWritten;
  }
}

/** Replaces a file durably. The caller holds a lock: every writer of the file uses the same temporary name (B6). */
export async function replaceDurableFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  try {
    // A killed writer may have left one.
    rmSync(temporary, { force: true });
    await createDurableFile(temporary, Buffer.from(text));
    renameSync(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    // The first error is the one to report. The next writer removes what stays.
    removeIfPossible(temporary);
    throw error;
  }
}

/** Replaces a file that may hold secrets. It needs no lock: each process has its own temporary name. */
export function writePrivateFile(path: string, content: string): void {
  const temporary = temporaryNameOf(path);
  try {
    writeFileSync(temporary, content, { mode: 0o600, flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Does what `writePrivateFile` does with content that arrives piece by piece. A link stays, and the file that it names is
 * replaced. A device or a pipe takes the content itself: a file in its place would be missed by all other programs.
 */
export async function writePrivateStream(path: string, content: Readable): Promise<void> {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there !== undefined && !there.isFile()) return await pipeline(content, createWriteStream(path));
  const file = targetOf(path);
  const temporary = temporaryNameOf(file);
  try {
    await pipeline(content, createWriteStream(temporary, { mode: 0o600, flush: true }));
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Returns the file that a path names through all links, also if it does not exist yet. */
function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path;
  }
}

function temporaryNameOf(path: string): string {
  return `${path}.${process.pid}.tmp`;
}

/** Creates a folder. Returns false if something is at the path already. Throws ENOENT if the parent is missing. */
export function createFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** Creates a folder whose name is durable. Does nothing if something is at the path already. */
export async function createDurableFolder(path: string): Promise<void> {
  if (createFolder(path)) await syncFolder(dirname(path));
}

/** Makes the content of a file durable that was written before. */
export async function syncContent(path: string): Promise<void> {
  // Windows syncs only what is open for writing.
  const file = openSync(path, "r+");
  try {
    await syncFile(file);
  } finally {
    closeSync(file);
  }
}

/** Windows has no fsync of folders. Its file systems journal renames by themselves. */
const canSyncFolders = process.platform !== "win32";

/** Makes the names in a folder durable: what was created, renamed or removed there. */
export async function syncFolder(path: string): Promise<void> {
  if (!canSyncFolders) return;
  const folder = openSync(path, "r");
  try {
    await syncFile(folder);
  } finally {
    closeSync(folder);
  }
}

/** Does what `syncFolder` does, and blocks this process until it is done. */
export function syncFolderBlocking(path: string): void {
  if (canSyncFolders) syncFileBlocking(path);
}

/** Makes the content of a file durable, and blocks this process until it is done. */
export function syncFileBlocking(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Removes a file or a folder if it can. Returns false if it stays: then the next user of the path has to handle it. */
export function removeIfPossible(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}
