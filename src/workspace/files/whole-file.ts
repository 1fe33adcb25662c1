/** Small files that are read and replaced as a whole: a reader finds the old text or the new one, and a crash too. */
import { open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { storageFault, systemCode } from "../../domain/storage-fault.ts";

/** Null: there is no such file. Throws a TypeError for what is not UTF-8; a byte order mark is left out. */
export async function readWhole(path: string): Promise<string | null> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
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
    await writeFile(aside, text, { mode: 0o600, flush: true });
    await rename(aside, path);
    await syncFolder(dirname(path));
  } catch (error) {
    // The first failure is the one to tell; what stays is overwritten by the next writer.
    await Promise.allSettled([rm(aside, { force: true })]);
    throw storageFault(`${path} could not be written`, error);
  }
}

/** Makes durable what was renamed into a folder. Windows has no such call, and its file systems journal renames. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Nothing there, or a file where a folder would be. */
export function isAbsence(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemCode(error));
}
