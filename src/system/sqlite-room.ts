/** Finds out whether SQLite failed because the disk is full. It says so of a write to the database, and calls much else an I/O error. */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "./system-error.ts";

/** Errors that a full disk causes, and other faults too: the file of shared memory cannot grow, the log cannot be written or synced. */
const mayBeFull = /^SQLITE_IOERR_(?:WRITE|FSYNC|DIR_FSYNC|TRUNCATE|CLOSE|SHMOPEN|SHMSIZE|SHMMAP|MMAP)$/;
/** Files are opened too when they are created, which needs room for another file. */
const mayLackFiles = "SQLITE_CANTOPEN";

/** What SQLite writes at once may need this room, in bytes: one region of its shared memory has half of it. */
const roomBytesMin = 65_536;

/** The room of a file system. `files` is null if it does not count files. */
interface Room {
  bytes: number;
  files: number | null;
}

/** Returns the error as one with the code `SQLITE_FULL` if there is no room beside the file for what failed. Else returns it unchanged. */
export function namedIfFull(error: unknown, file: string, roomOf: (folder: string) => Room | null = readRoom): unknown {
  const code = systemCode(error);
  const lacksFiles = code.startsWith(mayLackFiles);
  if (!lacksFiles && !mayBeFull.test(code)) return error;
  const room = roomOf(dirname(file));
  if (room === null || (lacksFiles ? room.files !== 0 : room.bytes >= roomBytesMin)) return error;
  const what = lacksFiles ? "there is no room for another file" : "there is no room left";
  const message = `${what} in ${dirname(file)}: ${error instanceof Error ? error.message : String(error)}`;
  return Object.assign(new Error(message, { cause: error }), { code: "SQLITE_FULL" });
}

/** Returns null if the system does not say it. */
function readRoom(folder: string): Room | null {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder);
    return { bytes: bavail * bsize, files: files === 0 ? null : ffree };
  } catch {
    return null;
  }
}
