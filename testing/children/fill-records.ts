/**
 * Opens records on a full disk: what SQLite shares between processes has no room, which it calls an I/O error. Its argument is the
 * folder of the disk.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { startSession } from "../../src/records/suite/samples.ts";
import { openSqliteRecords } from "../../src/records/sql/sqlite/sqlite.ts";
import { emptyDisk, fillDisk } from "../full-disk.ts";

const [, , folder = assert.fail("the folder is missing")] = process.argv;
const file = join(folder, "records.db");
const store = await openSqliteRecords({ file });
const { id } = await startSession(store);
await store.close();
fillDisk(folder);
await assert.rejects(openSqliteRecords({ file }), { name: "AptoveError", code: "storage_full" });
emptyDisk(folder);
const again = await openSqliteRecords({ file });
assert.equal((await again.sessions.get(id))?.id, id);
await again.close();
