/** What deleting history leaves alone, whatever goes wrong (K4, B1). */
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { alice, all, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { newId } from "../../domain/ids.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";

/** The first 48 bits of an id are its time. */
function idMadeAt(time: number): string {
  const hex = time.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}${newId().slice(13)}`;
}

const later = (): number => Date.now() + 2 * 3_600_000;

test("[K4] garbage that is most of what is stored is deleted only by an explicit order", async (t) => {
  const { ask, deps } = await testEngine(t);
  await ask("one");
  // The records are lost: nothing names the blobs any more.
  const { engine } = await testEngine(t, { blobs: deps.blobs, records: memoryRecords(), now: later });
  const stored = (await deps.blobs.list("turns/")).toSorted();
  const dry = await engine.tree.collectGarbage(alice, { dryRun: true });
  assert.deepEqual([dry.keys, dry.isMost], [stored, true]);
  await assert.rejects(
    engine.tree.collectGarbage(alice, { dryRun: false }),
    hasCode("garbage_doubtful", /3 of 3 blobs.*nothing was deleted/),
  );
  assert.deepEqual((await deps.blobs.list("turns/")).toSorted(), stored);
  assert.deepEqual(await engine.tree.collectGarbage(alice, { dryRun: false, isMostExpected: true }), dry);
  assert.deepEqual(await deps.blobs.list("turns/"), []);
});

test("[K4] garbage that is not most of what is stored needs no such order", async (t) => {
  const { ask, engine, deps } = await testEngine(t, { now: later });
  await ask("one");
  await deps.blobs.put(`turns/${newId()}/opening.json`, Buffer.from("{}"));
  const { keys, isMost } = await engine.tree.collectGarbage(alice, { dryRun: false });
  assert.deepEqual([keys.length, isMost], [1, false]);
});

for (const what of ["a purge", "a collection of garbage"] as const) {
  for (const when of ["between two turns", "while the blobs of a turn are deleted"] as const) {
    test(`[K4] [B1] turns that are imported during ${what}, ${when}, have all their blobs`, async (t) => {
      t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
      const here = await testEngine(t);
      const { sessionId } = await here.ask("one");
      await here.ask("two", { sessionId });
      const lines = await all(here.engine.transfer.export(alice, { sessionId }));
      await here.engine.tree.remove(alice, sessionId);
      t.mock.timers.setTime(later());
      const records = what === "a purge" ? here.deps.records : memoryRecords();
      const { engine, deps } = await testEngine(t, { ...here.deps, records });
      const reached = Promise.withResolvers<void>();
      const mayGoOn = Promise.withResolvers<void>();
      const { insert } = records.imports;
      records.imports.insert = async (imported) => {
        reached.resolve();
        await mayGoOn.promise;
        return await insert.call(records.imports, imported);
      };
      const { delete: remove } = deps.blobs;
      let importing: Promise<unknown> = Promise.resolve();
      deps.blobs.delete = async (key) => {
        deps.blobs.delete = remove;
        if (when === "between two turns") mayGoOn.resolve();
        importing = engine.transfer.import(alice, Readable.from(lines));
        await (when === "between two turns" ? importing : reached.promise);
        // The blob was there when the import looked, or the import has put it again.
        if (when !== "between two turns") await remove.call(deps.blobs, key);
      };
      if (what === "a purge") await engine.tree.purge(alice, sessionId);
      else await engine.tree.collectGarbage(alice, { dryRun: false, isMostExpected: true });
      mayGoOn.resolve();
      await importing;
      assert.equal((await engine.explain.verify(alice, sessionId)).fault, null);
    });
  }
}

test("[K4] a blob without a row is garbage when its turn is an hour old, and not before", async (t) => {
  const { ask, engine, deps } = await testEngine(t);
  await ask("one");
  const minute = 60_000;
  const ids = [61 * minute, 59 * minute, minute, 0].map((age) => idMadeAt(Date.now() - age));
  for (const id of ids) await deps.blobs.put(`turns/${id}/opening.json`, Buffer.from("{}"));
  const { keys } = await engine.tree.collectGarbage(alice, { dryRun: true, isMostExpected: true });
  assert.deepEqual(keys, [`turns/${ids[0]}/opening.json`]);
});

test("[S6] a session that a person restores while it is being purged stays as it was", async (t) => {
  const { ask, engine, deps } = await testEngine(t);
  const { sessionId, id } = await ask("one");
  await engine.tree.remove(alice, sessionId);
  const { list } = deps.blobs;
  deps.blobs.list = async (prefix) => {
    deps.blobs.list = list;
    await engine.tree.restore(alice, sessionId);
    return await list.call(deps.blobs, prefix);
  };
  await assert.rejects(engine.tree.purge(alice, sessionId), hasCode("not_found"));
  assert.equal((await engine.sessions.get(alice, sessionId)).headTurnId, id);
  assert.equal((await deps.blobs.list(`turns/${id}/`)).length, 3);
  assert.equal((await ask("two", { sessionId })).status, "completed");
});

test("[S6] [B1] a purge deletes rows before blobs: one that breaks off leaves garbage, and never a row without its blob", async (t) => {
  const { ask, engine, deps } = await testEngine(t);
  const { sessionId, id } = await ask("one");
  await engine.tree.remove(alice, sessionId);
  const deleting = deps.blobs.delete;
  deps.blobs.delete = async () => {
    assert.equal(await deps.records.turns.get(id), null, "the row must be gone before its first blob");
    throw new Error("the process ends here");
  };
  await assert.rejects(engine.tree.purge(alice, sessionId), /the process ends here/);
  deps.blobs.delete = deleting;
  assert.equal((await deps.blobs.list(`turns/${id}/`)).length, 3);

  // A purge that cannot delete the rows deletes no blob.
  const other = await ask("two");
  await engine.tree.remove(alice, other.sessionId);
  deps.records.purges.purgeSession = async () => false;
  await assert.rejects(engine.tree.purge(alice, other.sessionId), hasCode("session_busy"));
  assert.equal((await deps.blobs.list(`turns/${other.id}/`)).length, 3);
});
