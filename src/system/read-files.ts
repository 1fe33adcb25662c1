/** Reads files that may be missing, opens files without following links, and tells a file from its copies. */
import { constants, readFileSync, statSync } from "node:fs";
import { isAbsence } from "./system-error.ts";

/** Refuses a symbolic link. Zero on Windows, where creating a symbolic link needs a privilege. */
export const noFollowFlag: number = constants.O_NOFOLLOW ?? 0;

/** Opens a regular file for reading. It follows no link, and does not wait for the other end of a pipe. */
export const readRegularFlags: number = constants.O_RDONLY | noFollowFlag | (constants.O_NONBLOCK ?? 0);

/** Returns the content of a file. Null if there is no such file. Throws what `node:fs` throws. */
export function readIfPresent(path: string): Buffer | null {
  try {
    // An error costs ten times as much as this answer.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return null;
    return readFileSync(path);
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

/** Returns the text of a file without its byte order mark. Null if there is no such file. Throws a TypeError if it is not UTF-8. */
export function readTextIfPresent(path: string): string | null {
  const bytes = readIfPresent(path);
  return bytes === null ? null : new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/** Returns the device and the inode of a file or a folder. A rename keeps them, a copy has others. Throws what `node:fs` throws. */
export function fileIdentity(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}:${ino}`;
}
