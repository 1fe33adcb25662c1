/** What is in a data folder before a backup is restored into it, and must not be lost or mixed with it (B3). */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld } from "../../testing/cli.ts";
import { removeRecords, withDatabase } from "../../testing/stored-content.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { dataFolderAt } from "../configuration/data-folder.ts";
import { filesOfRecords } from "./backup-place.ts";
import { restoreBackup } from "./backup.ts";

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
  assert.match(stderr, /which belong to a records.db that is gone; .* move them beside that file, .*backup_refused/);
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

test("[B3] a restore does not replace a configuration or a file of a workspace that differs, and names them", async (t) => {
  const cli = await cliWorld(t);
  assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
  const [config, note] = ["config.toml", "workspaces/mine/memory/note.md"].map((name) => join(cli.dataDir, name));
  const copy = join(await temporaryFolder(t), "copy");
  const write = (text: string): void => {
    mkdirSync(join(cli.dataDir, "workspaces/mine/memory"), { recursive: true });
    for (const file of [config, note]) writeFileSync(file ?? "", `# ${text}\n`);
  };
  write("of the backup");
  assert.equal((await cli.run(["backup", copy])).exit, 0);
  removeRecords(cli.dataDir);
  write("newer");
  const refused = await cli.run(["restore", copy]);
  assert.equal(refused.exit, 1);
  assert.match(refused.stderr, /would be lost: config.toml, workspaces\/mine\/memory\/note.md; move them away/);
  assert.match(refused.stderr, /move them away.*backup_refused\)\nfix: .*no session was changed/);
  const content = (): string[] => [config, note].map((file) => readFileSync(file ?? "", "utf8"));
  assert.deepEqual(content(), ["# newer\n", "# newer\n"]);
  assert.deepEqual(
    readdirSync(cli.dataDir).filter((name) => name.startsWith("records.db")),
    [],
  );
  // A restore that broke off may have left a part of a file.
  writeFileSync(join(cli.dataDir, "records.db.restoring"), "");
  const again = await cli.run(["restore", copy]);
  assert.equal(again.exit, 0, again.stderr);
  assert.deepEqual(content(), ["# of the backup\n", "# of the backup\n"]);
});

test("[B3] a restore that finds records which another process began meanwhile leaves the configuration as it is", async (t) => {
  const { cli, copy, records } = await world(t);
  writeFileSync(join(copy, "config.toml"), "# of the backup\n");
  removeRecords(cli.dataDir);
  const restoring = restoreBackup({
    folder: dataFolderAt(cli.dataDir),
    copy,
    version: "1.2.3",
    onBlob: () => writeFileSync(records, ""),
  });
  await assert.rejects(restoring, { code: "backup_refused" });
  assert.equal(existsSync(join(cli.dataDir, "config.toml")), false);
});
