/** Backups that are interrupted, run out of room, meet another one, or read a folder that cannot be written (B3, B4). */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { cliWorld } from "../../testing/cli.ts";
import { readOnlyView } from "../../testing/read-only-view.ts";
import { runOnSmallDisk } from "../../testing/small-disk.ts";
import { places, type Place } from "../../testing/stored-content.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { dataFolderAt } from "../configuration/data-folder.ts";
import { snapshotSqlite } from "../records/sql/sqlite/sqlite-snapshot.ts";
import { makeBackup } from "./backup.ts";

const version = "1.2.3";

async function world(t: TestContext, store: Place) {
  const cli = await cliWorld(t, { store });
  assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
  return { cli, folder: dataFolderAt(cli.dataDir), copy: join(await temporaryFolder(t), "copy") };
}

for (const store of places) {
  test(`[B3] two backups into one folder at once: one is refused, and the other is whole (${store})`, async (t) => {
    const { folder, copy } = await world(t, store);
    const make = () => makeBackup({ folder, copy, version });
    const ends = await Promise.allSettled([make(), make()]);
    const codes = ends.map((end) => (end.status === "rejected" ? (end.reason as { code: string }).code : "made"));
    assert.deepEqual(codes.toSorted(), ["backup_refused", "made"]);
    assert.ok(existsSync(join(copy, "backup.json")) && existsSync(join(copy, "records.db")));
    assert.deepEqual(
      readdirSync(copy).filter((name) => name.includes("unfinished")),
      [],
    );
  });

  test(`[B3] a backup that fails leaves nothing, and one that was killed is replaced by the next (${store})`, async (t) => {
    const { cli, folder, copy } = await world(t, store);
    const onBlob = (): void => {
      // What a process that is killed here leaves.
      if (!existsSync(`${copy}-killed`)) mkdirSync(`${copy}-killed`);
      for (const name of readdirSync(copy))
        writeFileSync(join(`${copy}-killed`, name), name.endsWith(".lock") ? "" : "half");
      throw new Error("no room");
    };
    await assert.rejects(makeBackup({ folder, copy, version, onBlob }), /no room/);
    assert.deepEqual(readdirSync(copy), []);
    for (const place of [copy, `${copy}-killed`]) {
      const { exit, stderr } = await cli.run(["backup", place]);
      assert.equal(exit, 0, stderr);
      assert.match((await cli.run(["backup", place])).stderr, /is not empty/);
    }
  });

  test(`[B3] [B4] a data folder and a backup that this user cannot write are copied and restored, and stay as they are (${store})`, async (t) => {
    const { cli, copy } = await world(t, store);
    const view = await readOnlyView(t, cli.dataDir);
    if (view === null) return t.skip("this system has no way to make a folder read-only for this user");
    const made = await cli.run(["backup", copy], { env: { APTOVE_DATA_DIR: view } });
    assert.equal(made.exit, 0, made.stderr);
    const kept = await readOnlyView(t, copy);
    if (kept === null) return t.skip("this system has no way to make a folder read-only for this user");
    const restored = join(copy, "../restored");
    const done = await cli.run(["restore", kept], { env: { APTOVE_DATA_DIR: restored } });
    assert.equal(done.exit, 0, done.stderr);
    assert.match((await cli.run(["session", "list"], { env: { APTOVE_DATA_DIR: restored } })).stdout, /hello/);
  });
}

test("[B3] a folder with the names of a backup and without its mark, or with anything else, is not replaced", async (t) => {
  const { cli, copy } = await world(t, "database");
  mkdirSync(copy);
  writeFileSync(join(copy, "records.db"), "mine");
  assert.match((await cli.run(["backup", copy])).stderr, /is not empty; name a folder .*backup_refused/);
  writeFileSync(join(copy, "backup-unfinished.lock"), "");
  writeFileSync(join(copy, "letter.txt"), "mine");
  assert.match((await cli.run(["backup", copy])).stderr, /is not empty; name a folder .*backup_refused/);
  assert.equal(readFileSync(join(copy, "records.db"), "utf8"), "mine");
  rmSync(join(copy, "letter.txt"));
  assert.equal((await cli.run(["backup", copy])).exit, 0);
});

test("[B3] a copy of the records does not touch a file that is there", async (t) => {
  const { folder, copy } = await world(t, "database");
  writeFileSync(copy, "of another process");
  assert.throws(() => snapshotSqlite({ from: folder.records, to: copy }), { code: "backup_refused" });
  assert.equal(readFileSync(copy, "utf8"), "of another process");
});

test("[B3] a copy of the records that finds its disk full names that disk, and leaves nothing", async (t) => {
  const script = fileURLToPath(new URL("../../testing/children/fill-backup.ts", import.meta.url));
  await runOnSmallDisk(t, script, "size=300k");
});
