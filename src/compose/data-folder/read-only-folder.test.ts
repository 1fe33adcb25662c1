/** A data folder that cannot be written is read, and stays as it is (B4, B6). */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { readOnlyView } from "../../../testing/read-only-view.ts";
import { places } from "../../../testing/stored-content.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { createAptove } from "../../compose.ts";
import { AptoveError } from "../../domain/errors.ts";
import { startSession } from "../../records/suite/samples.ts";
import { openSqliteRecords } from "../../records/sql/sqlite/sqlite.ts";
import { thisRunner } from "../this-runner.ts";
import { isReadOnlyFolder, openRecordsCopy } from "./read-only-folder.ts";

/** Returns each file below the folder with its content. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith("-shm"))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((path) => `${path} ${readFileSync(path).toString("base64")}`);
}

test("[B4] the records of a folder are read from a copy with what is still in their log, and no change is accepted", async (t) => {
  const file = join(await temporaryFolder(t), "records.db");
  const records = await openSqliteRecords({ file });
  const session = await startSession(records);
  const before = filesIn(join(file, ".."));
  assert.ok(before.some((path) => path.includes("records.db-wal")));
  const copy = await openRecordsCopy(file);
  assert.deepEqual(await copy.sessions.get(session.id), await records.sessions.get(session.id));
  const rename = copy.sessions.update(session.id, { name: "another" }, null);
  await assert.rejects(rename, { code: "storage_failed", message: /only read; nothing was changed/ });
  await copy.close();
  assert.deepEqual(filesIn(join(file, "..")), before);
  await records.close();
});

/** Returns the place of the temporary copies that this test makes. */
async function placeOfCopies(t: TestContext): Promise<string> {
  const place = await temporaryFolder(t);
  const { TMPDIR: before } = process.env;
  process.env["TMPDIR"] = place;
  t.after(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  return place;
}

test("[B4] [B6] the copy of records that may only be read is writable and private, and goes away with the records", async (t) => {
  const file = join(await temporaryFolder(t), "records.db");
  const records = await openSqliteRecords({ file });
  const session = await startSession(records);
  for (const path of [file, `${file}-wal`]) chmodSync(path, 0o444);
  const place = await placeOfCopies(t);
  const copy = await openRecordsCopy(file);
  const [folder = ""] = readdirSync(place);
  for (const name of readdirSync(join(place, folder)))
    assert.equal(statSync(join(place, folder, name)).mode & 0o777, 0o600, name);
  // A process notes itself in the copy.
  await copy.runners.insert({ ...thisRunner(file), startedAt: 1 });
  assert.equal((await copy.sessions.get(session.id))?.id, session.id);
  await copy.close();
  assert.deepEqual(readdirSync(place), []);
  await records.close();
});

test("[B6] a process that ends without closing the copy of its records removes it", async (t) => {
  const file = join(await temporaryFolder(t), "records.db");
  await (await openSqliteRecords({ file })).close();
  const place = await placeOfCopies(t);
  const source = JSON.stringify(new URL("read-only-folder.ts", import.meta.url).href);
  const program = `const { openRecordsCopy } = await import(${source});
    await openRecordsCopy(${JSON.stringify(file)});
    console.log((await import("node:fs")).readdirSync(process.env.TMPDIR).length);
    process.exit(1);`;
  const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  assert.equal(ended.stdout, "1\n", ended.stderr);
  assert.deepEqual(readdirSync(place), []);
});

test("[B6] an engine that cannot be opened on a copy of the records removes the copy", async (t) => {
  const folder = join(await temporaryFolder(t), "data");
  const parts = { dataDir: folder, env: {}, overrides: { provider: "offline" }, report: () => {} };
  const first = await createAptove(parts);
  await first.engine.close();
  await first.telemetry.close();
  const view = await readOnlyView(t, folder);
  if (view === null) return t.skip("this system has no way to make a folder read-only for this user");
  const place = await placeOfCopies(t);
  const broken = createAptove({
    ...parts,
    dataDir: view,
    now: () => {
      if (readdirSync(place).length > 0) throw new AptoveError("internal", "the clock is broken");
      return Date.now();
    },
  });
  await assert.rejects(broken, /the clock is broken/);
  assert.deepEqual(readdirSync(place), []);
});

for (const store of places) {
  test(`[B4] [B6] [D2] a data folder that this user cannot write is listed, read and verified, and stays as it is (${store})`, async (t) => {
    const folder = join(await temporaryFolder(t), "data");
    const parts = {
      dataDir: folder,
      env: { APTOVE_BLOBS_STORE: store },
      overrides: { provider: "offline" },
      report: () => {},
    };
    const first = await createAptove(parts);
    const caller = await first.engine.keys.owner();
    const running = await first.engine.turns.run(caller, { instruction: "hello" });
    const turn = await running.finished;
    await first.engine.close();
    await first.telemetry.close();
    const view = await readOnlyView(t, folder);
    if (view === null) return t.skip("this system has no way to make a folder read-only for this user");
    const before = filesIn(folder);
    assert.ok(isReadOnlyFolder({ dir: view, records: join(view, "records.db") }));
    const { engine, telemetry } = await createAptove({ ...parts, dataDir: view });
    const { sessions } = await engine.sessions.list(caller, { limit: 10 });
    // The lists of the doors have the summaries of their sessions.
    assert.equal((await engine.sessions.summaries.newestOf(caller, [turn.sessionId])).length, 0);
    assert.deepEqual(
      sessions.map(({ id }) => id),
      [turn.sessionId],
    );
    assert.equal((await engine.explain.verify(caller, turn.sessionId)).fault, null);
    assert.notEqual(await (await engine.turns.read(caller, turn.id)).answer(), "");
    const asked = await (await engine.turns.run(caller, { instruction: "more" }).catch(() => null))?.finished;
    assert.equal(asked, undefined);
    await assert.rejects(engine.sessions.update(caller, turn.sessionId, { name: "x" }), { code: "storage_failed" });
    await engine.close();
    await telemetry.close();
    assert.deepEqual(filesIn(folder), before);
  });
}
