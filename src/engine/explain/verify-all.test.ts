/** The check of all turns goes on where a turn is damaged, and ends where the store does not answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { AptoveError } from "../../domain/errors.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";

test("[D2] [B3] a turn whose row is damaged is a fault of it and of its child; records that do not answer are no fault", async (t) => {
  const records = memoryRecords();
  const { get } = records.turns;
  let failing: { id: string; code: "records_damaged" | "storage_failed" } | null = null;
  records.turns.get = async (id) => {
    if (failing?.id === id) throw new AptoveError(failing.code, "as the test wants it");
    return await get.call(records.turns, id);
  };
  const { ask, engine } = await testEngine(t, { records });
  const first = await ask("one");
  const child = await ask("two", { sessionId: first.sessionId });
  const other = await ask("three");
  failing = { id: first.id, code: "records_damaged" };
  const reason = "as the test wants it";
  const { turns, faults } = await engine.explain.verifyAll(alice);
  assert.equal(turns, 3);
  assert.deepEqual(
    faults,
    [
      { turnId: first.id, sessionId: null, reason },
      { turnId: child.id, sessionId: first.sessionId, reason },
    ].toSorted((a, b) => (a.turnId < b.turnId ? -1 : 1)),
  );
  failing = { id: other.id, code: "storage_failed" };
  await assert.rejects(engine.explain.verifyAll(alice), hasCode("storage_failed"));
});
