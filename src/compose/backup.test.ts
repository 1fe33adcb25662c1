/** Backups of a data folder that is in use: their content, and their restore (B3, B1). */
import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { scriptedProvider } from "../providers/scripted/scripted.ts";
import { createAptove, type Aptove } from "../compose.ts";
import { dataFolderAt } from "../configuration/data-folder.ts";
import type { AptoveError } from "../domain/errors.ts";
import { newId } from "../domain/ids.ts";
import { renderFrontMatter } from "../workspace/transcript/front-matter.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { cliWorld } from "../../testing/cli.ts";
import { places, removeRecords, type Place } from "../../testing/stored-content.ts";
import { makeBackup, restoreBackup } from "./backup.ts";

const version = "1.2.3";

interface Opening {
  dataDir: string;
  store?: Place;
  script?: NonNullable<Parameters<typeof scriptedProvider>[0]>["script"];
}

async function open(context: TestContext, { dataDir, store = "database", script }: Opening): Promise<Aptove> {
  const agent = { id: "default", name: "Default", provider: "scripted", index: "local" };
  const providers = [scriptedProvider({ script: script ?? ((_call, n) => `answer ${n}`) })];
  const env = { APTOVE_BLOBS_STORE: store };
  const aptove = await createAptove({ dataDir, env, providers, agentContexts: [agent] });
  context.after(() => aptove.engine.close({ graceMs: 0 }));
  return aptove;
}

for (const store of places) {
  test(`[B1] [B3] a backup that is made during turns and purges has every turn that was acknowledged, whole (${store})`, async (t) => {
    const dir = await temporaryFolder(t);
    const { engine } = await open(t, { dataDir: join(dir, "data"), store });
    const owner = await engine.keys.owner();
    const ask = async (instruction: string, sessionId?: string) => {
      const turn = await engine.turns.run(owner, {
        instruction,
        repo: null,
        ...(sessionId !== undefined && { sessionId }),
      });
      return await turn.finished;
    };
    const doomed = await Promise.all(Array.from({ length: 3 }, (_, n) => ask(`to be purged ${n}`)));
    const kept = await Promise.all(Array.from({ length: 2 }, (_, n) => ask(`to be kept ${n}`)));
    const over = new AbortController();
    const going = Promise.all(
      kept.map(async ({ sessionId }) => {
        for (let n = 0; n < 20 && !over.signal.aborted; n++) await ask("and on", sessionId);
      }),
    );
    const purging = (async () => {
      for (const { sessionId } of doomed) {
        await engine.tree.remove(owner, sessionId);
        await engine.tree.purge(owner, sessionId);
      }
    })();
    const folder = dataFolderAt(join(dir, "data"));
    const copy = join(dir, "copy");
    const report = await makeBackup({ folder, copy, version }).finally(() => over.abort());
    await Promise.all([going, purging]);
    assert.ok(report.turns >= kept.length && report.blobs > report.turns);

    const restored = dataFolderAt(join(dir, "restored"));
    await restoreBackup({ folder: restored, copy, version });
    const again = (await open(t, { dataDir: restored.dir, store })).engine;
    const { sessions } = await again.sessions.list(owner, { limit: 100 });
    const found = new Set(sessions.map((session) => session.id));
    for (const { sessionId, id } of kept) {
      assert.ok(found.has(sessionId));
      assert.equal((await again.turns.get(owner, id)).status, "completed");
    }
    let verified = 0;
    for (const { id } of sessions) {
      const result = await again.explain.verify(owner, id, () => (verified += 1));
      assert.equal(result.fault, null);
    }
    assert.ok(verified >= kept.length);
  });
}

for (const way of ["a restored backup", "a copied folder"]) {
  test(`[R2] in ${way}, a turn that goes on in the original is lost, and its session continues`, async (t) => {
    const dir = await temporaryFolder(t);
    const script = () => [{ waits: new Promise<void>(() => {}) }];
    const { engine, folder } = await open(t, { dataDir: join(dir, "data"), script });
    const owner = await engine.keys.owner();
    const running = await engine.turns.run(owner, { instruction: "one", repo: null });
    const copied = dataFolderAt(join(dir, "copied"));
    if (way === "a copied folder") cpSync(folder.dir, copied.dir, { recursive: true });
    else {
      await makeBackup({ folder, copy: join(dir, "backup"), version });
      await restoreBackup({ folder: copied, copy: join(dir, "backup"), version });
    }

    const again = (await open(t, { dataDir: copied.dir })).engine;
    const lost = await again.turns.get(owner, running.turnId);
    assert.equal(lost.status === "failed" && lost.failures[0].code, "runner_lost");
    const next = await again.turns.run(owner, { instruction: "two", repo: null, sessionId: running.sessionId });
    assert.equal((await next.finished).status, "completed");

    const beside = (await open(t, { dataDir: folder.dir })).engine;
    assert.equal((await beside.turns.get(owner, running.turnId)).status, "pending", "its process lives");
  });
}

test("[L1] a backup goes into an empty folder only, a restore into a folder without sessions, and only what is whole", async (t) => {
  const cli = await cliWorld(t);
  const copy = join(await temporaryFolder(t), "copy");
  assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
  const made = await cli.run(["backup", copy, "--json"]);
  assert.equal(made.exit, 0, made.stderr);
  const { turns, bytes } = JSON.parse(made.stdout) as { turns: number; bytes: number };
  assert.equal(turns, 1);
  assert.ok(bytes > statSync(join(copy, "records.db")).size, "the size is that of the copy");
  const isFull = /cannot be made or restored here: .* is not empty; name a folder .*backup_refused/;
  assert.match((await cli.run(["backup", copy])).stderr, isFull);
  assert.match((await cli.run(["restore", copy])).stderr, /already has sessions.*backup_refused/);
  const records = join(cli.dataDir, "records.db");
  for (const file of [records, `${records}-wal`, `${records}-shm`]) rmSync(file, { force: true });

  const manifest = readFileSync(join(copy, "backup.json"));
  const stored = readFileSync(join(copy, "records.db"));
  writeFileSync(join(copy, "records.db"), stored.subarray(0, stored.length - 1));
  assert.match((await cli.run(["restore", copy])).stderr, /its records were changed/);
  writeFileSync(join(copy, "records.db"), stored);
  rmSync(join(copy, "backup.json"));
  assert.match((await cli.run(["restore", copy])).stderr, /not a backup, or not a complete one/);
  writeFileSync(join(copy, "backup.json"), manifest);
  assert.equal(existsSync(records), false);
  const restored = await cli.run(["restore", copy]);
  assert.equal(restored.exit, 0, restored.stderr);
  assert.match((await cli.run(["session", "list"])).stdout, /hello/);
});

for (const store of places) {
  test(`[B3] after a restore that was killed, no command begins new records, and the restore can be repeated (${store})`, async (t) => {
    const cli = await cliWorld(t, { store });
    const copy = join(await temporaryFolder(t), "copy");
    assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
    assert.equal((await cli.run(["backup", copy])).exit, 0);
    for (const name of ["records.db", "blobs", "workspaces"])
      rmSync(join(cli.dataDir, name), { recursive: true, force: true });
    // A restore writes the rows first beside their place.
    const aside = join(cli.dataDir, "records.db.restoring");
    writeFileSync(aside, readFileSync(join(copy, "records.db")).subarray(0, 4_096));
    for (const command of [["session", "list"], ["ask", "again"], ["doctor"]]) {
      const { exit, stdout, stderr } = await cli.run(command);
      assert.equal(exit, 1);
      assert.match(stdout + stderr, /has no records yet; to begin .* delete .*restoring/);
      assert.match(stdout + stderr, /fix: .*run the same aptove restore again/);
    }
    assert.match((await cli.run(["backup", `${copy}-2`])).stderr, /has no records, so there is nothing to copy/);
    assert.equal(existsSync(join(cli.dataDir, "records.db")), false);
    const restored = await cli.run(["restore", copy]);
    assert.equal(restored.exit, 0, restored.stderr);
    assert.match((await cli.run(["session", "list"])).stdout, /hello/);
    assert.equal(existsSync(aside), false);
  });
}

test("[B3] [L1] a backup into a file, below one, or into the data folder is refused, and nothing is made", async (t) => {
  const cli = await cliWorld(t);
  assert.equal((await cli.run(["ask", "hello"])).exit, 0);
  const [file, link, data] = [join(cli.copy, "a-file"), join(cli.copy, "a-link"), cli.dataDir];
  writeFileSync(file, "mine");
  symlinkSync(data, link);
  symlinkSync(join(cli.copy, "nowhere"), join(cli.copy, "dangling"));
  const before = readdirSync(data).toSorted();
  const refused = async (copy: string, why: RegExp): Promise<void> => {
    const { exit, stdout, stderr } = await cli.run(["backup", copy]);
    assert.equal(exit, 1, copy);
    assert.equal(stdout, "");
    assert.match(stderr, why);
    assert.match(stderr, /\(backup_refused\)\nfix: /);
  };
  const isFile = /is no folder; name a folder that does not exist yet/;
  for (const copy of [file, join(file, "below"), join(cli.copy, "dangling")]) await refused(copy, isFile);
  const isInside = /is in the data folder .* would be lost with it; name a folder outside of it/;
  for (const copy of [join(data, "inside"), join(data, "deep", "er"), join(link, "inside"), data])
    await refused(copy, isInside);
  assert.deepEqual(readdirSync(data).toSorted(), before);
  assert.equal(readFileSync(file, "utf8"), "mine");
});

test("[B3] two restores into one folder do not mix: one of them is refused, and the other is whole", async (t) => {
  const dir = await temporaryFolder(t);
  const copies = await Promise.all(
    ["one", "two"].map(async (name) => {
      const { engine } = await open(t, { dataDir: join(dir, name) });
      const owner = await engine.keys.owner();
      const turn = await engine.turns.run(owner, { instruction: name, repo: null });
      await turn.finished;
      const copy = join(dir, `copy-of-${name}`);
      await makeBackup({ folder: dataFolderAt(join(dir, name)), copy, version });
      return { copy, sessionId: turn.sessionId };
    }),
  );
  const folder = dataFolderAt(join(dir, "restored"));
  const ends = await Promise.allSettled(copies.map(async ({ copy }) => await restoreBackup({ folder, copy, version })));
  const refused = ends.flatMap((end) => (end.status === "rejected" ? [(end.reason as AptoveError).code] : []));
  assert.deepEqual(refused, ["backup_refused"]);
  const { engine } = await open(t, { dataDir: folder.dir });
  const { sessions } = await engine.sessions.list(await engine.keys.owner(), { limit: 10 });
  assert.deepEqual(
    sessions.map(({ id }) => id),
    copies.filter((_, at) => ends[at]?.status === "fulfilled").map(({ sessionId }) => sessionId),
  );
});

test("[B4] [K4] a data folder that lost its records is no empty installation: nothing starts, and nothing is deleted", async (t) => {
  const cli = await cliWorld(t, { store: "files" });
  const copy = join(await temporaryFolder(t), "copy");
  assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
  assert.equal((await cli.run(["backup", copy])).exit, 0);
  const records = join(cli.dataDir, "records.db");
  removeRecords(cli.dataDir);
  for (const command of [["ask", "again"], ["session", "list"], ["gc"], ["doctor"]]) {
    const { exit, stdout, stderr } = await cli.run(command);
    assert.equal(exit, 1);
    assert.match(stdout + stderr, /the records are lost or empty; put .* back from a backup/);
  }
  assert.equal(existsSync(records), false);
  // The same for a file that was emptied.
  writeFileSync(records, "");
  assert.match((await cli.run(["gc"])).stderr, /records_lost/);
  assert.match((await cli.run(["restore", copy])).stderr, /without any turn; stop all that uses the folder, and move/);
  removeRecords(cli.dataDir);
  const restored = await cli.run(["restore", copy]);
  assert.equal(restored.exit, 0, restored.stderr);
  assert.match((await cli.run(["session", "list"])).stdout, /hello/);
});

test("[B4] a data folder that lost the database with all contents is noticed by the transcript of a workspace", async (t) => {
  const cli = await cliWorld(t);
  const copy = join(await temporaryFolder(t), "copy");
  assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
  const folder = join(cli.dataDir, "workspaces/mine");
  mkdirSync(folder, { recursive: true });
  // A file that a person wrote is no sign of a session.
  writeFileSync(join(folder, "session.md"), "## User\n\nhello\n");
  assert.equal((await cli.run(["backup", copy])).exit, 0);
  removeRecords(cli.dataDir);
  assert.equal((await cli.run(["session", "list"])).exit, 0);
  removeRecords(cli.dataDir);
  const front = { provider: "offline", model: "", createdAt: Date.now(), sessionId: newId() };
  writeFileSync(join(folder, "session.md"), renderFrontMatter(front));
  for (const command of [["ask", "again"], ["session", "list"], ["gc"], ["doctor"]]) {
    const { exit, stdout, stderr } = await cli.run(command);
    assert.equal(exit, 1);
    assert.match(stdout + stderr, /workspace mine has a transcript, .*lost or empty; put .* back from a backup/);
  }
  assert.equal(existsSync(join(cli.dataDir, "records.db")), false);
  assert.match(
    (await cli.run(["restore", copy])).stderr,
    /would be lost: workspaces\/mine\/session.md; move them away/,
  );
  rmSync(join(cli.dataDir, "workspaces"), { recursive: true });
  assert.equal((await cli.run(["restore", copy])).exit, 0);
  assert.match((await cli.run(["session", "list"])).stdout, /hello/);
});

test("[B4] a data folder whose blobs were replaced by others is refused", async (t) => {
  const env = { APTOVE_BLOBS_STORE: "files" };
  const [cli, other] = [await cliWorld(t), await cliWorld(t)];
  for (const world of [cli, other]) assert.equal((await world.run(["ask", "hello", "--new"], { env })).exit, 0);
  rmSync(join(cli.dataDir, "blobs"), { recursive: true });
  assert.match((await cli.run(["session", "list"], { env })).stderr, /they have no store.*blobs_foreign/);
  rmSync(join(cli.dataDir, "blobs"), { recursive: true });
  // Without the setting the blobs would now be in the database.
  assert.match((await cli.run(["session", "list"])).stderr, /the folder blobs is gone.*blobs_foreign/);
  assert.equal(existsSync(join(cli.dataDir, "blobs")), false);
  cpSync(join(other.dataDir, "blobs"), join(cli.dataDir, "blobs"), { recursive: true });
  assert.match((await cli.run(["session", "list"])).stderr, /they belong to other records.*blobs_foreign/);
});
