/** Translates an error of the medium under a store into the catalogue of errors. */
import { AptoveError, type ErrorCode } from "./errors.ts";

/**
 * The error codes of a device or a quota without free space. Node has no name for EDQUOT, and reports its number on
 * Linux and macOS. The codes are listed here, and not with the other codes of the system, because `domain` imports
 * nothing.
 */
const fullDiskCodes: readonly unknown[] = ["ENOSPC", "EDQUOT", "Unknown system error -122", "Unknown system error -69"];

const storeFaults: readonly ErrorCode[] = [
  "storage_full",
  "storage_failed",
  "records_unavailable",
  "blobs_unavailable",
  "records_damaged",
  "records_moved",
];

/** Returns true if the code is that of a store that cannot do its work, and not of what was asked of it. */
export function isStoreFault(code: ErrorCode): boolean {
  return storeFaults.includes(code);
}

/**
 * Returns an error with the code `storage_full` if there is no free space, else with `storage_failed`. An AptoveError
 * is returned unchanged. `what` describes the operation, for example "the blob turns/1/state.json could not be
 * written".
 */
export function storageFault(what: string, cause: unknown): AptoveError {
  if (cause instanceof AptoveError) return cause;
  const detail = `${what}: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new AptoveError(storageFaultCode(cause), detail, { cause });
}

/** Returns the error code for an error of the operating system. */
export function storageFaultCode(cause: unknown): Extract<ErrorCode, "storage_full" | "storage_failed"> {
  const isFull = cause instanceof Error && "code" in cause && fullDiskCodes.includes(cause.code);
  return isFull ? "storage_full" : "storage_failed";
}
