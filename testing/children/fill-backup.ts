/** Copies records of 1 MB from a disk with room to the small one: the error names the small disk, and nothing stays there. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import type { AptoveError } from "../../src/domain/errors.ts";
import { snapshotSqlite } from "../../src/records/sql/sqlite/sqlite-snapshot.ts";

const small = process.argv[2] ?? "";
const large = mkdtempSync(join(tmpdir(), "aptove-large-"));
try {
  const from = join(large, "records.db");
  const database = new Database(from);
  database.exec("create table big (bytes); insert into big values (randomblob(1000000))");
  database.close();
  const to = join(small, "records.db");
  assert.throws(
    () => snapshotSqlite({ from, to }),
    (error: AptoveError) => {
      assert.equal(error.code, "storage_full");
      assert.ok(error.message.includes(`the disk of ${to} is full`), error.message);
      return true;
    },
  );
  assert.deepEqual(readdirSync(small), []);
} finally {
  rmSync(large, { recursive: true });
}
