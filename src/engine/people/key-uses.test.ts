import assert from "node:assert/strict";
import { test } from "node:test";
import { testParts } from "../../../testing/engine.ts";
import { AptoveError } from "../../domain/errors.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { createEngine } from "../create-engine.ts";

test("[H4] [B3] a full disk, which takes no note of a key's last use, refuses no request, and is reported once", async (t) => {
  const reports: string[] = [];
  const clock = { now: 1_000_000, monotonic: 0 };
  const records = memoryRecords();
  const update = records.keys.update.bind(records.keys);
  const disk = { isFull: true, writes: 0 };
  records.keys.update = async (...args) => {
    disk.writes += 1;
    if (disk.isFull) throw new AptoveError("storage_full", "the disk is full");
    return await update(...args);
  };
  const report = (message: string): void => void reports.push(message);
  const times = { now: () => clock.now, monotonic: () => clock.monotonic };
  const engine = await createEngine(testParts({ records, report, ...times }));
  t.after(() => engine.close({ graceMs: 0 }));
  const owner = await engine.keys.owner();
  const { secret } = await engine.keys.create(owner, { name: "mine" });
  const use = async (): Promise<number | null> => {
    assert.equal((await engine.keys.authenticate(secret))?.userId, owner.userId);
    return (await engine.keys.list(owner)).keys[0]?.lastUsedAt ?? null;
  };
  const fault = "the last use of keys could not be noted";
  for (let n = 0; n < 3; n += 1) assert.equal(await use(), null);
  assert.equal(disk.writes, 1, "it is not tried with each request");
  clock.monotonic += 6_000;
  assert.equal(await use(), null);
  assert.equal(disk.writes, 2);
  assert.deepEqual(reports, [fault]);
  clock.monotonic += 6_000;
  disk.isFull = false;
  assert.equal(await use(), clock.now);
  assert.deepEqual(reports, [fault, `a fault is over: ${fault}`]);
});
