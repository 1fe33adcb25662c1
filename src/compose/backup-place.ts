/** The folder of a backup before it is made (B3): it must be empty, and outside of what it protects. */
import { existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
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
