/**
 * Small files that are read and replaced as a whole: a reader finds the old text or the new one, and a crash too. Only the
 * disk itself is waited for on another thread; in the page cache everything is done before it could be handed over.
 */
import { closeSync, fsync, openSync, readFileSync, renameSync, rmSync, write, writeSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { storageFault, systemCode } from "../../domain/storage-fault.ts";

/** Resolves when what was written through the descriptor is on the medium. */
const syncFile: (file: number) => Promise<void> = promisify(fsync);

const writeElsewhere = promisify(write);

/** More is read and written on another thread. */
export const smallBytesMax = 262_144;

/** Null: there is no such file. Throws a TypeError for what is not UTF-8; a byte order mark is left out. */
export async function readWhole(path: string): Promise<string | null> {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (isAbsence(error)) return null;
    throw storageFault(`${path} could not be read`, error);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/** Durable when it resolves; 0600. Whoever calls it holds a lock, so that the place aside is theirs (B6). */
export async function replaceWhole(path: string, text: string): Promise<void> {
  const aside = `${path}.new`;
  try {
    // What is there was left by a writer that is gone.
    rmSync(aside, { force: true });
    await writeNew(aside, Buffer.from(text));
    renameSync(aside, path);
    await syncFolder(dirname(path));
  } catch (error) {
    // The first failure is the one to tell; what stays is taken away by the next writer.
    rmIfThere(aside);
    throw storageFault(`${path} could not be written`, error);
  }
}

/** A file that is not there yet, 0600, durable but for its name. */
export async function writeNew(path: string, bytes: Uint8Array): Promise<void> {
  const file = openSync(path, "wx", 0o600);
  try {
    await writeAll(file, bytes);
    await syncFile(file);
  } finally {
    closeSync(file);
  }
}

export async function writeAll(file: number, bytes: Uint8Array): Promise<void> {
  const isSmall = bytes.length <= smallBytesMax;
  for (let at = 0; at < bytes.length;) {
    at += isSmall ? writeSync(file, bytes, at) : (await writeElsewhere(file, bytes, at)).bytesWritten;
  }
}

/** Makes durable what was renamed into a folder. Windows has no such call, and its file systems journal renames. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    await syncFile(folder);
  } finally {
    closeSync(folder);
  }
}

/** Whether it is gone. For what is left of something that failed: whoever comes next finds what stays, and deals with it. */
export function rmIfThere(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}

/** Nothing there, or a file where a folder would be. */
export function isAbsence(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemCode(error));
}
