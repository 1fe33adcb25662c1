import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { endOfRound } from "../../system/rounds.ts";
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

test("[R2] [K5] a store that refuses everything is reported once, and again when the reason changes or after it worked", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const records = memoryRecords();
  const { list } = records.runners;
  let reason: string | null = null;
  const looked = new EventTarget();
  t.mock.method(records.runners, "list", async () => {
    looked.dispatchEvent(new Event("look"));
    if (reason !== null) throw new AptoveError("storage_failed", reason);
    return await list();
  });
  const { reports } = await testEngine(t, { records });
  const lost = () => reports.filter((text) => text.includes("turns that lost their process")).length;
  const round = async (next: string | null): Promise<number> => {
    reason = next;
    const look = once(looked, "look");
    t.mock.timers.tick(limits.recoverMs);
    await look;
    await endOfRound();
    return lost();
  };
  const log = "the log could not be synced; start the process again";
  assert.deepEqual([await round(log), await round(log), await round(log)], [1, 1, 1]);
  assert.deepEqual([await round("the disk is away"), await round("the disk is away")], [2, 2]);
  assert.equal(await round(log), 3);
  assert.deepEqual([await round(null), await round(null)], [4, 4]);
  assert.equal(reports.at(-1), "a fault is over: turns that lost their process could not be searched");
  assert.deepEqual([await round(log), await round(log)], [5, 5]);
});
