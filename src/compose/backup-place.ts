/**
 * The folder of a backup before it is made (B3): it must be empty, and outside of what it protects. The data folder before a restore: it
 * must have no records, and nothing that belongs to some.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { DataFolder } from "../configuration/data-folder.ts";
import { AptoveError } from "../domain/errors.ts";
import { storageFault } from "../domain/storage-fault.ts";
import { removeIfPossible } from "../system/durable-files.ts";
import { fileIdentity } from "../system/read-files.ts";
import { systemCode } from "../system/system-error.ts";
import { namesBeside } from "./data-folder/files-beside.ts";

/** The file that is written last. */
export const manifestName = "backup.json";
/** The lock of the process that makes a backup. A folder that has it and no manifest has what an interrupted one left. */
const unfinishedName = "backup-unfinished.lock";

/**
 * Calls `make` with the folder of a backup of the data folder, which no other process uses meanwhile. What an interrupted backup left there is
 * removed before, and what this one wrote if it fails. Throws `backup_refused`, and `storage_failed` or `storage_full` if the folder cannot be made.
 */
export async function inBackupFolder<T>(
  { copy, dataDir }: { copy: string; dataDir: string },
  make: () => Promise<T>,
): Promise<T> {
  makeBackupFolder(copy, dataDir);
  const unfinished = join(copy, unfinishedName);
  const alone = async (): Promise<T> => {
    // Another process may have ended a backup here since.
    refuseContent(copy);
    clear(copy);
    try {
      const made = await make();
      rmSync(unfinished, { force: true });
      return made;
    } catch (error) {
      if (clear(copy)) removeIfPossible(unfinished);
      throw error;
    }
  };
  const { FileLockFailure, FileLockTimeout, withFileLock } = await import("../system/file-lock.ts");
  try {
    return await withFileLock(unfinished, alone, { waitMsMax: 0 });
  } catch (error) {
    if (error instanceof FileLockFailure) throw storageFault(`the folder ${copy} could not be written`, error.cause);
    if (!(error instanceof FileLockTimeout)) throw error;
    throw new AptoveError("backup_refused", `another backup into ${copy} is running; wait until it has ended`);
  }
}

function makeBackupFolder(copy: string, dataDir: string): void {
  try {
    if (isBelow(copy, dataDir)) {
      const why = `${copy} is in the data folder ${dataDir}, and would be lost with it; name a folder outside of it`;
      throw new AptoveError("backup_refused", why);
    }
    mkdirSync(copy, { recursive: true, mode: 0o700 });
    refuseContent(copy);
  } catch (error) {
    if (!["ENOENT", "ENOTDIR", "EEXIST"].includes(systemCode(error))) {
      throw storageFault(`the folder ${copy} of the backup could not be made`, error);
    }
    throw new AptoveError("backup_refused", `${copy} is no folder; name a folder that does not exist yet`);
  }
}

/** Throws `backup_refused` if the folder has anything but what an interrupted backup left. */
function refuseContent(copy: string): void {
  const names = readdirSync(copy);
  if (names.length === 0 || (names.includes(unfinishedName) && names.every(isOfUnfinished))) return;
  throw new AptoveError("backup_refused", `${copy} is not empty; name a folder that does not exist yet`);
}

const ofBackup = new Set([unfinishedName, "blobs", ...namesBeside]);

/** Returns whether a backup writes the name before it has ended. */
function isOfUnfinished(name: string): boolean {
  return ofBackup.has(name) || /^(?:records\.db(?:-wal|-shm|-journal)?|backup\.json\.\d+\.tmp)$/.test(name);
}

/** Removes what a backup wrote, and leaves the lock. Returns false if something stays. */
function clear(copy: string): boolean {
  const names = readdirSync(copy).filter((name) => name !== unfinishedName);
  return names.filter((name) => !removeIfPossible(join(copy, name))).length === 0;
}

/** Returns whether the path is the folder or below it, by whatever links and mounts. The path itself need not exist. */
function isBelow(path: string, folder: string): boolean {
  const identity = fileIdentity(folder);
  let at = path;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  for (at = realpathSync.native(at); ; at = dirname(at)) {
    if (fileIdentity(at) === identity) return true;
    if (dirname(at) === at) return false;
  }
}

/** Returns the files that SQLite has beside a database in use, as far as they exist. It reads them as a part of the file with the name. */
export function filesOfRecords(records: string): string[] {
  return ["-wal", "-shm", "-journal"].map((end) => `${records}${end}`).filter((file) => existsSync(file));
}

/**
 * Throws `backup_refused` if the data folder has records or their files, and says what they are and what to do before a restore. `also` are
 * further words of the message.
 */
export async function refuseRecords({ dir, records }: Pick<DataFolder, "dir" | "records">, also = ""): Promise<void> {
  if (existsSync(records)) {
    const isEmpty = await hasNoTurns(records);
    const all = [records, ...filesOfRecords(records)].join(", ");
    const what = isEmpty
      ? `has a file of records without any turn; stop all that uses the folder, and move ${all} away`
      : `already has sessions, which would be lost; stop all that uses the folder, and move ${all} away, or set APTOVE_DATA_DIR to another folder`;
    throw new AptoveError("backup_refused", `${dir} ${what}${also}`);
  }
  const left = filesOfRecords(records);
  if (left.length === 0) return;
  // The log has the newest turns of the database that was moved, and would replace those that are restored.
  const fix =
    "stop all that uses the folder, and move them beside that file, each with the new name of the file before its ending, because the newest turns are in them; delete them only if that file is deleted";
  throw new AptoveError(
    "backup_refused",
    `${dir} has ${left.join(", ")}, which belong to a ${basename(records)} that is gone; ${fix}${also}`,
  );
}

/** Returns false for damaged records too: they may still be repaired. */
async function hasNoTurns(records: string): Promise<boolean> {
  const { turnIdsIn } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  try {
    return [...turnIdsIn(records)].length === 0;
  } catch {
    return false;
  }
}
