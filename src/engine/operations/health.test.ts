import assert from "node:assert/strict";
import { test } from "node:test";
import { testEngine } from "../../../testing/engine.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { memoryEventLog } from "../../live/memory/memory-event-log.ts";
import { noObserver, type ObserverNote } from "../../telemetry/observer.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";

const full = (): Promise<never> => Promise.reject(new AptoveError("storage_full", "no room"));

test("[H2] a store that can be read and not written is not ready, and is ready as soon as it can be written again", async (t) => {
  const time = { now: 0 };
  const clocks = { now: () => time.now, monotonic: () => time.now };
  const [records, blobs, log] = [memoryRecords(), memoryBlobs(), memoryEventLog()];
  const ready = new Map<string, boolean>();
  const note = (one: ObserverNote) => void (one.type === "store_checked" && ready.set(one.store, one.isReady));
  const { engine, reports } = await testEngine(t, {
    records,
    blobs,
    log,
    ...clocks,
    observer: { ...noObserver, note },
  });
  const states = async () => {
    time.now += limits.healthKeptMs;
    const health = await engine.health();
    return [health.records, health.blobs, health.log];
  };
  assert.deepEqual(await states(), ["ok", "ok", "ok"]);
  time.now += limits.healthWriteMs;
  const writing = { probe: records.storage.probe, put: blobs.put, append: log.append };
  records.storage.probe = full;
  blobs.put = full;
  log.append = full;
  for (let n = 0; n < 3; n += 1) assert.deepEqual(await states(), ["failed", "failed", "failed"]);
  assert.equal(reports.length, 3, "each store is reported once");
  assert.deepEqual(
    [...ready],
    [
      ["records", false],
      ["blobs", false],
      ["live", false],
    ],
  );
  records.storage.probe = writing.probe;
  blobs.put = writing.put;
  log.append = writing.append;
  assert.deepEqual(await states(), ["ok", "ok", "ok"]);
  assert.deepEqual(reports.slice(3).toSorted(), [
    "a fault is over: the blobs do not work",
    "a fault is over: the live log does not work",
    "a fault is over: the records do not work",
  ]);
});

test("[H2] health checks write seldom, however often anyone asks, and leave nothing behind", async (t) => {
  const time = { now: 0 };
  const blobs = memoryBlobs();
  const put = blobs.put.bind(blobs);
  let writes = 0;
  blobs.put = async (key, bytes) => {
    writes += 1;
    await put(key, bytes);
  };
  const { engine, deps } = await testEngine(t, { blobs, now: () => time.now, monotonic: () => time.now });
  const minutes = 2;
  for (; time.now < minutes * 60_000; time.now += 200) await engine.health();
  assert.ok(writes >= 2 && writes <= (minutes * 60_000) / limits.healthWriteMs, `${writes} writes`);
  assert.deepEqual([await deps.blobs.list(""), await deps.log.list()], [[], []]);
});
