/** A copy of an SQLite store at one moment, while other processes continue to write to it. */
import { closeSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { AptoveError } from "../../../domain/errors.ts";
import { storageFault } from "../../../domain/storage-fault.ts";
import { syncFileBlocking, syncFolderBlocking } from "../../../system/durable-files.ts";
import { namedIfFull } from "../../../system/sqlite-room.ts";
import { systemCode } from "../../../system/system-error.ts";
import { recordsFault } from "../faults.ts";

/**
 * Copies the store to the new file `to` (mode 0600). The copy is complete and durable on return. Writers are not blocked. Throws
 * `backup_refused` if the file exists: then another process makes a copy there.
 */
export function snapshotSqlite({ from, to }: { from: string; to: string }): void {
  create(to);
  try {
    const database = new Database(from, { fileMustExist: true, timeout: 10_000 });
    try {
      // The copy is one read transaction and contains no concurrent writes. SQLite treats the empty file as a new database.
      database.prepare("vacuum into ?").run(to);
    } finally {
      database.close();
    }
    checkIntegrity(to);
    syncFileBlocking(to);
    syncFolderBlocking(dirname(to));
  } catch (error) {
    rmSync(to, { force: true });
    throw copyFault(error, { from, to });
  }
}

function create(to: string): void {
  try {
    closeSync(openSync(to, "wx", 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw storageFault(`${to} could not be created`, error);
    throw new AptoveError("backup_refused", `another process writes ${to}; wait until it has ended`);
  }
}

/** SQLite writes the copy only. So a full disk is that of the copy, unless there is no room for its own files beside the original. */
function copyFault(error: unknown, { from, to }: { from: string; to: string }): AptoveError {
  const found = namedIfFull(error, to);
  if (found instanceof Error && systemCode(found) === "SQLITE_FULL") {
    const what = `the disk of ${to} is full, so the records in ${from} could not be copied to it`;
    return new AptoveError("storage_full", `${what}: ${found.message}`, { cause: found });
  }
  return recordsFault(`the records in ${from} could not be copied to ${to}`, namedIfFull(found, from));
}

/** Keeps the file open until the returned function is called, so that no process can take it alone. */
export function holdSqlite(file: string): () => void {
  const database = new Database(file, { fileMustExist: true, timeout: 10_000 });
  try {
    database.pragma("user_version");
  } catch (error) {
    database.close();
    throw recordsFault(`the records in ${file} could not be opened`, namedIfFull(error, file));
  }
  return () => database.close();
}

/** Throws if the structure of the copy is damaged: then the original is too, or the copy was written wrong. */
function checkIntegrity(file: string): void {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    const found = database.pragma("integrity_check(1)", { simple: true });
    if (found !== "ok") throw new AptoveError("records_damaged", `the rows are damaged: ${String(found)}`);
  } finally {
    database.close();
  }
}

/** Yields the ids of all turns. The order is undefined. */
export function* turnIdsIn(file: string): Generator<string> {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    yield* database.prepare<[], string>("select id from turns").pluck().iterate() as IterableIterator<string>;
  } finally {
    database.close();
  }
}

/** Counts the turns in the file, and leaves no files of SQLite beside it. A reader that may not write would leave some. */
export function countTurns(file: string): number {
  const database = new Database(file, { fileMustExist: true, timeout: 10_000 });
  try {
    return database.prepare<[], number>("select count(*) from turns").pluck().get() ?? 0;
  } catch (error) {
    throw recordsFault(`the records in ${file} could not be read`, namedIfFull(error, file));
  } finally {
    database.close();
  }
}

const tablesOfBlobs = "select count(*) from sqlite_schema where name in ('blobs', 'contents', 'store_facts')";
/** Records that name their blob store have the blobs only if the id of that store is among them. */
const anyBlobs = `select exists (select 1 from blobs where key = 'store/identity.json')
  or not exists (select 1 from store_facts where name = 'blob_store')
  and (exists (select 1 from blobs) or exists (select 1 from contents where blobs is not null))`;

/** Returns true if the file has the blobs that belong to its records. */
export function hasEmbeddedBlobs(file: string): boolean {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    const one = (query: string): unknown => database.prepare(query).pluck().get();
    return one(tablesOfBlobs) === 3 && one(anyBlobs) === 1;
  } catch (error) {
    throw recordsFault(`the records in ${file} could not be read`, namedIfFull(error, file));
  } finally {
    database.close();
  }
}
