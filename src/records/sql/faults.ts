/** What an engine's errors mean: the few that the store acts on, and the rest as catalogued errors. */
import { AptoveError } from "../../domain/errors.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { systemCode } from "../../system/system-error.ts";

const uniqueViolations = ["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "23505"];
const fullDevice = ["SQLITE_FULL", "53100"];
const undefinedTable = "42P01";

/** True when another row holds a place that this one wanted: somebody else was first. */
export function isUniqueViolation(error: unknown): boolean {
  return uniqueViolations.includes(systemCode(error));
}

/** True where PostgreSQL has no such table yet. */
export function isUndefinedTable(error: unknown): boolean {
  return systemCode(error) === undefinedTable;
}

/** An engine's error as `storage_full` or `storage_failed`. `what` says what was being done. */
export function recordsFault(what: string, error: unknown): AptoveError {
  if (!fullDevice.includes(systemCode(error))) return storageFault(what, error);
  return new AptoveError("storage_full", `${what}: there is no room left`, { cause: error });
}

/** The same methods, with every error that they throw turned into a fault that names the method. */
export function withRecordsFaults<T extends object>(methods: T): T {
  const guarded = Object.entries(methods).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    async (...args: unknown[]) => {
      try {
        return await method(...args);
      } catch (error) {
        throw recordsFault(`the records could not do ${name}`, error);
      }
    },
  ]);
  return Object.fromEntries(guarded) as T;
}
