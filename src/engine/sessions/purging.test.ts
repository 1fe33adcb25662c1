/** What deleting history leaves alone, whatever goes wrong (K4, B1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { newId } from "../../domain/ids.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";

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
