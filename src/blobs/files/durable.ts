/**
 * Files that are on the medium when they are acknowledged (B3). Only the disk itself is waited for on another thread:
 * to open, write a little, name and close are microseconds each in the page cache, less than handing them over costs.
 */
import { closeSync, fsync, openSync, write, writeSync } from "node:fs";
import { promisify } from "node:util";

/** Resolves when what was written through the descriptor is on the medium. */
export const syncFile: (file: number) => Promise<void> = promisify(fsync);

const writeAside = promisify(write);

/** More is copied on another thread. */
const writtenHereBytesMax = 262_144;

/** A new file, 0600. Throws EEXIST where there is one. */
export async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = openSync(path, "wx", 0o600);
  try {
    const isSmall = bytes.length <= writtenHereBytesMax;
    for (let at = 0; at < bytes.length;) {
      at += isSmall ? writeSync(file, bytes, at) : (await writeAside(file, bytes, at)).bytesWritten;
    }
    await syncFile(file);
  } finally {
    closeSync(file);
  }
}
