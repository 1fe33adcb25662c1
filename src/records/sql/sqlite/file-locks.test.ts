/**
 * Closing any descriptor of a file drops every POSIX lock that the process holds on it, also SQLite's. Without its lock the
 * store looks unused: another program that closes the file (such as the `sqlite3` of a distribution) takes the log away, and
 * what is acknowledged afterwards is lost. So the program never opens the file beside SQLite.
 */
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openIndexFile } from "../../../retrieval/local/index-file.ts";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { openSqliteRecords } from "./sqlite.ts";

/** Returns how many locks this process holds on the file. */
function locksOn(file: string): number {
  const held = ` ${process.pid} `;
  const inode = `:${statSync(file).ino} `;
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .filter((line) => line.includes(held) && line.includes(inode)).length;
}

function cannotSeeLocks(context: TestContext): boolean {
  if (process.platform !== "linux") context.skip("only Linux lists the locks of a process");
  return process.platform !== "linux";
}

test("[B3] [B4] a process that opens the records a second time keeps its lock on them", async (t) => {
  if (cannotSeeLocks(t)) return;
  const file = join(await temporaryFolder(t), "records.db");
  const one = await openSqliteRecords({ file });
  assert.equal(locksOn(file), 1);
  // There is a log now, as after a crash or beside another process.
  const two = await openSqliteRecords({ file });
  assert.equal(locksOn(file), 1);
  await one.close();
  assert.equal(locksOn(file), 1);
  await two.close();
});

test("[B4] a process that opens the index a second time keeps its lock on it", async (t) => {
  if (cannotSeeLocks(t)) return;
  const folder = await temporaryFolder(t);
  const file = join(folder, "index.db");
  const one = openIndexFile(folder);
  one.exec("create table ours (n integer)");
  const two = openIndexFile(folder);
  assert.equal(locksOn(file), 1);
  one.close();
  two.close();
});
