/** Limits over several servers that share their records (H5): the sum holds, and a refusal costs next to nothing. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openSqliteRecords } from "../../records/sql/sqlite/sqlite.ts";
import type { RecordStore } from "../../records/record-store.ts";
import { wrapMethods } from "../../system/wrap-methods.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { alice, testEngine } from "../../../testing/engine.ts";
import { rejectionOf } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import type { QuotaLimits } from "../dependencies.ts";

const none = { concurrentRunsMax: null, requestsPerMinuteMax: null };

function quotas(over: Partial<QuotaLimits>): QuotaLimits {
  const all = { concurrentRunsPerUserMax: null, concurrentRunsOfOwnerMax: null, sharedRequestsPerMinuteMax: null };
  return { ...all, ofOrg: () => none, ...over };
}

/** Counts the calls of a store's methods. */
function counted(records: RecordStore): { records: RecordStore; calls: Map<string, number> } {
  const calls = new Map<string, number>();
  const counting = wrapMethods(records, (method, name) => async (...args) => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    return await method(...args);
  });
  return { records: counting, calls };
}

test("[H5] two servers together run as many turns of a user, and of an org, as the limits say", async (t) => {
  const file = join(await temporaryFolder(t), "records.db");
  const held = Promise.withResolvers<void>();
  const limits = quotas({
    concurrentRunsOfOwnerMax: 2,
    ofOrg: (id) => (id === alice.orgId ? { ...none, concurrentRunsMax: 3 } : none),
  });
  const server = async () => {
    const { records, calls } = counted(await openSqliteRecords({ file }));
    const script = () => [{ waits: held.promise }, { says: "x" }];
    return { ...(await testEngine(t, { records, script, quotas: limits })), calls };
  };
  const [one, two] = [await server(), await server()];
  const bob = { ...alice, userId: "00000000-0000-7000-8000-0000000000bb" };
  const running = await Promise.all([one.start("a"), two.start("b")]);
  const refused = await rejectionOf(one.start("c"));
  assert.equal(refused.code, "runs_limited");
  assert.deepEqual(refused.facts, { limit: 2, of: "user", retryAfterSeconds: 1 });
  running.push(await two.engine.turns.run(bob, { instruction: "d" }));
  assert.equal((await rejectionOf(one.engine.turns.run(bob, { instruction: "e" }))).facts["of"], "org");

  one.calls.clear();
  for (let n = 0; n < 20; n++) await rejectionOf(one.start("again"));
  // The server looks for messages of other processes beside this, whatever is asked.
  const asked = [...one.calls].filter(([name]) => !name.startsWith("runners."));
  assert.deepEqual(asked, [["limits.countRuns", 20]]);
  held.resolve();
  await Promise.all(running.map((turn) => turn.finished));
  assert.equal((await one.ask("f")).status, "completed");
});

test("[H5] two servers together let through a minute's requests, ask the records seldom, and not at all when it is used up", async (t) => {
  let now = 60_000 * 1_000;
  const { records, calls } = counted(memoryRecords({ now: () => now }));
  const limits = quotas({ sharedRequestsPerMinuteMax: 120 });
  const servers = [await testEngine(t, { records, quotas: limits }), await testEngine(t, { records, quotas: limits })];
  const ask = async (count: number) => {
    const tried = Array.from({ length: count }, (_, n) => servers[n % 2]?.engine.takeRequest(alice));
    const results = await Promise.allSettled(tried);
    return results.filter(({ status }) => status === "fulfilled").length;
  };
  calls.clear();
  assert.equal(await ask(100), 100);
  assert.equal(calls.get("limits.takeRate"), 50);
  assert.equal(await ask(100), 20);
  calls.clear();
  const [server] = servers;
  const { code, facts } = await rejectionOf(server?.engine.takeRequest(alice) ?? Promise.resolve());
  assert.deepEqual([code, facts["limitPerMinute"]], ["rate_limited", 120]);
  const { retryAfterSeconds } = facts;
  assert.ok(Number(retryAfterSeconds) >= 60 && Number(retryAfterSeconds) <= 61, `${String(retryAfterSeconds)} s`);
  assert.equal(await ask(100), 0);
  assert.equal(calls.get("limits.takeRate"), undefined);

  // Other servers, as of later: half of the minute before still counts half a minute later.
  now += 90_000;
  const later = [await testEngine(t, { records, quotas: limits }), await testEngine(t, { records, quotas: limits })];
  servers.splice(0, 2, ...later);
  assert.equal(await ask(120), 60);
});

test("[H5] the window of the store's clock slides in SQL as it does in memory", async (t) => {
  let now = 1_000_000;
  const file = join(await temporaryFolder(t), "records.db");
  const stores = [await openSqliteRecords({ file, now: () => now }), memoryRecords({ now: () => now })];
  t.after(() => stores[0]?.close());
  const steps: [at: number, amount: number][] = [
    [1_000_000, 5],
    [1_000_400, 1],
    [1_001_200, 2],
    [1_003_000, 4],
    [1_002_500, 1],
    [1_003_999, 0],
    [990_000, 3],
    [990_500, 1],
  ];
  const taken = [];
  for (const store of stores) {
    const of = [];
    for (const [at, amount] of steps) {
      now = at;
      of.push(await store.limits.takeRate({ scope: "s", amount, windowMs: 1_000 }));
    }
    taken.push(of);
  }
  const [inSql, inMemory] = taken;
  assert.deepEqual(inSql, inMemory);
  assert.deepEqual(
    inSql?.map(({ used, previous }) => [used, previous]),
    [
      [5, 0],
      [6, 0],
      [2, 6],
      [4, 0],
      [5, 0],
      [5, 0],
      [3, 0],
      [4, 0],
    ],
  );
});
