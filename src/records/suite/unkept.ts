/** What a store must do about turns whose content is not kept (O3). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { UnkeptEnd, UnkeptTurn } from "../unkept.ts";
import type { Runner } from "../record-store.ts";
import { ada, noon, sampleOrgId, type OpenRecordsForTest } from "./samples.ts";

type Parts = "unkept" | "runners";

const end: UnkeptEnd = {
  at: noon + 5,
  status: "completed",
  code: null,
  provider: "offline",
  model: "offline-1",
  modelRequests: 1,
  usage: { input: 3, output: 2, cached: 0, reasoning: 0, total: 5 },
};

function begun(runnerId: string): UnkeptTurn {
  return { id: newId(), orgId: sampleOrgId, userId: ada, runnerId, startedAt: noon, requestHash: "h", end: null };
}

export function unkeptTests(open: OpenRecordsForTest<Parts>): void {
  test("[O3] a turn that is not kept has its counts, and ends once", async (context) => {
    const { store } = await open(context);
    const [first, second] = [begun("r"), begun("r")];
    for (const turn of [first, second]) await store.unkept.insert(turn);
    await store.unkept.finish(first.id, end);
    await store.unkept.finish(first.id, { ...end, at: noon + 9 });
    // Ids of one millisecond have any order.
    const newestFirst = [second, { ...first, end }].toSorted((one, other) => (one.id < other.id ? 1 : -1));
    assert.deepEqual(await store.unkept.list(ada, { limit: 9 }), newestFirst);
    assert.deepEqual(await store.unkept.list(ada, { limit: 1 }), newestFirst.slice(0, 1));
    assert.deepEqual(await store.unkept.list(newId(), { limit: 9 }), []);
  });

  test("[O3] [R2] the running turns of a runner that is gone fail, those of a living one do not", async (context) => {
    const { store } = await open(context);
    const runner: Runner = { id: newId(), host: "here", bootId: "boot", pid: 1, processStart: "", startedAt: noon };
    await store.runners.insert(runner);
    const [living, lost] = [begun(runner.id), begun(newId())];
    for (const turn of [living, lost]) await store.unkept.insert(turn);
    assert.equal(await store.unkept.failLost(noon + 7), 1);
    assert.equal(await store.unkept.failLost(noon + 8), 0);
    const ends = new Map((await store.unkept.list(ada, { limit: 9 })).map((turn) => [turn.id, turn.end]));
    assert.partialDeepStrictEqual(ends.get(lost.id), { at: noon + 7, status: "failed", code: "runner_lost" });
    assert.equal(ends.get(living.id), null);
  });
}
