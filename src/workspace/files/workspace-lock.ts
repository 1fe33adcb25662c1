/** The file locks of workspaces, with their failures as the catalogue of errors names them (B4). */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { FileLockFailure, FileLockTimeout, withFileLock } from "../../system/file-lock.ts";

/** Runs the body under the lock. Throws `workspace_busy`, `storage_failed`, `storage_full`, and what the body throws. */
export async function withWorkspaceLock<T>(
  path: string,
  body: () => T | Promise<T>,
  waitMsMax: number = limits.fileLockWaitMsMax,
): Promise<T> {
  try {
    return await withFileLock(path, body, { waitMsMax });
  } catch (error) {
    if (error instanceof FileLockTimeout) {
      const waited = `${(error.waitedMs / 1_000).toLocaleString("en")} s`;
      const detail = `another process or caller has held ${error.file} for ${waited}; try again when it is done`;
      throw new AptoveError("workspace_busy", detail);
    }
    if (error instanceof FileLockFailure) throw storageFault(error.message, error.cause);
    throw error;
  }
}
