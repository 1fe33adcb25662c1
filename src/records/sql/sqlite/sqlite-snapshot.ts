/** A copy of an SQLite store as it is at one moment, while others go on writing to it. */
import { closeSync, openSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { syncFileBlocking, syncFolderBlocking } from "../../../system/durable-files.ts";
import { recordsFault } from "../faults.ts";

/** The copy is whole and on the medium when this returns; `to` is a new file (0600). Writers are not held up. */
export function snapshotSqlite({ from, to }: { from: string; to: string }): void {
  try {
    closeSync(openSync(to, "wx", 0o600));
    const database = new Database(from, { fileMustExist: true, timeout: 10_000 });
    try {
      // One read transaction; what is written beside it is not in it. It takes an empty file for none.
      database.prepare("vacuum into ?").run(to);
    } finally {
      database.close();
    }
    syncFileBlocking(to);
    syncFolderBlocking(dirname(to));
  } catch (error) {
    rmSync(to, { force: true });
    throw recordsFault(`the records in ${from} could not be copied`, error);
  }
}

/** Of all turns, in no order. */
export function* turnIdsIn(file: string): Generator<string> {
  const database = new Database(file, { readonly: true, fileMustExist: true });
  try {
    yield* database.prepare<[], string>("select id from turns").pluck().iterate() as IterableIterator<string>;
  } finally {
    database.close();
  }
}
