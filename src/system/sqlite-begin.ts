/** Takes the write lock of an SQLite database. */
import type Database from "better-sqlite3";
import { systemCode } from "./system-error.ts";

/** Begins a transaction that writes. Returns false if another connection has the write lock. */
export function beginIfFree(database: Database.Database): boolean {
  try {
    database.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (isSqliteBusy(error)) return false;
    throw error;
  }
}

/** Returns true if the error says that another connection has the lock. */
export function isSqliteBusy(error: unknown): boolean {
  return systemCode(error).startsWith("SQLITE_BUSY");
}
