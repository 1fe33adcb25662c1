/** A data folder that cannot be written is read, and stays as it is (B4, B6). */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { places } from "../../../testing/stored-content.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { createAptove } from "../../compose.ts";
import { startSession } from "../../records/suite/samples.ts";
import { openSqliteRecords } from "../../records/sql/sqlite/sqlite.ts";
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

/** Makes the folder read-only at the returned path. Null if this user writes everywhere and may not mount. */
async function readOnlyView(t: TestContext, folder: string): Promise<string | null> {
  if (process.platform === "win32") return null;
  if (process.getuid?.() !== 0) {
    const set = (dir: number, file: number): void => {
      chmodSync(folder, dir);
      chmodSync(join(folder, "records.db"), file);
    };
    set(0o500, 0o400);
    t.after(() => set(0o700, 0o600));
    return folder;
  }
  // The mount ends before its folder is removed: what is registered first runs first.
  const place = { view: "" };
  t.after(() => spawnSync("umount", [place.view], { stdio: "ignore" }));
  const view = join(await temporaryFolder(t), "view");
  mkdirSync(view);
  place.view = view;
  const mount = (...args: string[]): boolean => spawnSync("mount", args, { stdio: "ignore" }).status === 0;
  if (!mount("--bind", folder, view)) return null;
  return mount("-o", "remount,ro,bind", view) ? view : null;
}

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
