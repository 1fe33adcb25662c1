/** Classifies a database engine's errors: the few that the store reacts to, and the rest as errors of the catalogue. */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { systemCode } from "../../system/system-error.ts";
import { wrapMethods } from "../../system/wrap-methods.ts";

/** The connection broke during a commit, and the database could not say whether it happened. */
export class OutcomeUnknown extends AptoveError {
  constructor(message: string, options: ErrorOptions) {
    super("storage_failed", message, options);
  }
}

/**
 * Repeats a change while its outcome is unknown, for a limited time. The change must itself find what an earlier attempt did,
 * because other retries call it too.
 */
export async function againIfUnknown<T>(change: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + limits.recordsRetryMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await change();
    } catch (error) {
      if (!(error instanceof OutcomeUnknown) || (!isFirst && performance.now() > deadline)) throw error;
    }
  }
}

const uniqueViolations = ["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "23505"];
const fullDevice = ["SQLITE_FULL", "53100"];
/** The file is no database, or its structure is damaged. PostgreSQL says it of a page or an index. */
const damaged = /^(?:SQLITE_CORRUPT.*|SQLITE_NOTADB|XX00[12])$/;
const undefinedTable = "42P01";

/** Returns whether a unique index refused the row because another process was first. */
export function isUniqueViolation(error: unknown): boolean {
  return uniqueViolations.includes(systemCode(error));
}

/** Returns whether PostgreSQL has no such table yet. */
export function isUndefinedTable(error: unknown): boolean {
  return systemCode(error) === undefinedTable;
}

/** PostgreSQL refuses the user, the password, or the address of the client; the database does not exist. */
const refusedAccess = /^(?:28...|3D000)$/;

/** Returns an engine's error as `storage_full`, `records_refused`, `records_damaged` or `storage_failed`. `what` names what failed. */
export function recordsFault(what: string, error: unknown): AptoveError {
  if (error instanceof Error && refusedAccess.test(systemCode(error))) {
    return new AptoveError("records_refused", `${what}: PostgreSQL answers: ${error.message}`, { cause: error });
  }
  // A document that is not JSON was not written so.
  if (error instanceof SyntaxError || (error instanceof Error && damaged.test(systemCode(error)))) {
    return new AptoveError("records_damaged", `${what}: ${error.message}`, { cause: error });
  }
  if (!(error instanceof Error) || !fullDevice.includes(systemCode(error))) return storageFault(what, error);
  return new AptoveError("storage_full", `${what}: the disk of the database is full: ${error.message}`, {
    cause: error,
  });
}

/** Returns the same store, whose methods throw every error as a storage error that names the method. */
export function withRecordsFaults<T extends object>(store: T): T {
  return wrapMethods(store, (method, name) => async (...args) => {
    try {
      return await method(...args);
    } catch (error) {
      throw recordsFault(`the records failed at ${name}`, error);
    }
  });
}
