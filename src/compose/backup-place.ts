/**
 * The folder of a backup before it is made (B3): it must be empty, and outside of what it protects. The data folder before a restore: it
 * must have no records, and nothing that belongs to some.
 */
import { existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { DataFolder } from "../configuration/data-folder.ts";
import { AptoveError } from "../domain/errors.ts";
import { storageFault } from "../domain/storage-fault.ts";
import { fileIdentity } from "../system/read-files.ts";
import { systemCode } from "../system/system-error.ts";

/** Makes the folder of a backup of the data folder. Throws `backup_refused`, and `storage_failed` or `storage_full` if it cannot be made. */
export function makeBackupFolder(copy: string, dataDir: string): void {
  try {
    if (isBelow(copy, dataDir)) {
      const why = `${copy} is in the data folder ${dataDir}, and would be lost with it; name a folder outside of it`;
      throw new AptoveError("backup_refused", why);
    }
    mkdirSync(copy, { recursive: true, mode: 0o700 });
    if (readdirSync(copy).length === 0) return;
  } catch (error) {
    if (!["ENOENT", "ENOTDIR", "EEXIST"].includes(systemCode(error))) {
      throw storageFault(`the folder ${copy} of the backup could not be made`, error);
    }
    throw new AptoveError("backup_refused", `${copy} is no folder; name a folder that does not exist yet`);
  }
  throw new AptoveError("backup_refused", `${copy} is not empty; name a folder that does not exist yet`);
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
    "stop all that uses the folder, and move them to the place where that file is now, because its newest turns are in them";
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
