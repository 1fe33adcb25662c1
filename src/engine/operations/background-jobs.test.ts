import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../../domain/limits.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { testEngine, testRunner } from "../../../testing/engine.ts";
import { engineCore } from "../turn/live/engine-core.ts";
import { recoverLostTurns } from "../turn/recover-turns.ts";
import { noteRunner } from "./background-jobs.ts";

test("[R2] [F11] a process that runs for weeks stays known to those on other machines, and one that ended is forgotten", async (t) => {
  const records = memoryRecords();
  const longAgo = Date.now() - 2 * limits.forgottenRunnerMs;
  const goesOn = testRunner({ startedAt: longAgo });
  const ended = testRunner({ startedAt: longAgo });
  await records.runners.insert(goesOn);
  await records.runners.insert(ended);
  const parts = { records, isAlive: () => null };
  const own = (await testEngine(t, { ...parts, records: memoryRecords(), runner: goesOn })).deps;
  await noteRunner(engineCore({ ...own, records }));
  const other = await testEngine(t, { ...parts, runner: testRunner({ startedAt: Date.now() }) });
  await recoverLostTurns(engineCore(other.deps));
  assert.notEqual(await records.runners.get(goesOn.id), null);
  assert.equal(await records.runners.get(ended.id), null);
});
