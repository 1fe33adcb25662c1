/** What is in a data folder before a backup is restored into it, and must not be lost or mixed with it (B3). */
import assert from "node:assert/strict";
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld } from "../../testing/cli.ts";
import { withDatabase } from "../../testing/stored-content.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { filesOfRecords } from "./backup-place.ts";

/** A data folder with one session, and a backup of it. */
async function world(t: TestContext) {
  const cli = await cliWorld(t);
  assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
  const aside = await temporaryFolder(t);
  const copy = join(aside, "copy");
  const made = await cli.run(["backup", copy]);
  assert.equal(made.exit, 0, made.stderr);
  return { cli, copy, aside, records: join(cli.dataDir, "records.db") };
}

test("[B3] a restore is refused beside the log of records that were moved away alone, and names every file", async (t) => {
  const { cli, copy, aside, records } = await world(t);
  // A database that lost its process has its newest rows in its log.
  const lost = join(aside, "lost");
  withDatabase(cli.dataDir, (database) => {
    database.exec("create table newest (x)");
    cpSync(cli.dataDir, lost, { recursive: true });
  });
  for (const end of ["", "-wal", "-shm"]) cpSync(join(lost, `records.db${end}`), `${records}${end}`);
  const all = `${records}, ${records}-wal, ${records}-shm`;
  const full = await cli.run(["restore", copy]);
  assert.ok(full.stderr.includes(`already has sessions`) && full.stderr.includes(`move ${all} away`), full.stderr);
  renameSync(records, join(aside, "old.db"));
  const { exit, stderr } = await cli.run(["restore", copy]);
  assert.equal(exit, 1);
  assert.match(stderr, /which belong to a records.db that is gone; .* move them to the place .*backup_refused/);
  assert.ok(stderr.includes(`${records}-wal, ${records}-shm`), stderr);
  assert.equal(existsSync(records), false);
  for (const end of ["-wal", "-shm"]) rmSync(`${records}${end}`);
  writeFileSync(`${records}-journal`, "");
  assert.match((await cli.run(["restore", copy])).stderr, /records.db-journal, which belong.*backup_refused/);
  rmSync(`${records}-journal`);
  assert.equal((await cli.run(["restore", copy])).exit, 0);
  assert.deepEqual(filesOfRecords(records), []);
  assert.match((await cli.run(["session", "list"])).stdout, /hello/);
});
