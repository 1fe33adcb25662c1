/** What a store must do with leases: its own clock decides, and a lost turn gets one new runner (R1, R2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { PendingTurn } from "../../domain/turn.ts";
import type { LostTurn, LostTurnsTaking } from "../runners.ts";
import {
  completedSample,
  draftOf,
  failedSample,
  finishSampleTurn,
  turnFinishOf,
  openSampleTurn,
  openingOf,
  openTwice,
  sampleRunnerId,
  runSampleTurn,
  startSession,
  stepOf,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "runners";
type Records = RecordsWith<Parts>;

/** A lease that lasts longer than any test. A lease of zero expires at once. */
const leaseMs = 600_000;

async function startTurn(store: Records, lease: number, runnerId = sampleRunnerId): Promise<PendingTurn> {
  const session = await startSession(store);
  return await openSampleTurn(store, openingOf(draftOf(session, { runnerId }), { leaseMs: lease }));
}

function takingOf(over: Partial<LostTurnsTaking> = {}): LostTurnsTaking {
  return { runnerId: "rescuer", leaseMs, deadRunnerIds: [], limit: 10, ...over };
}

export function runnerLeaseTests(open: OpenRecordsForTest<Parts>): void {
  test("[R1] a lease is measured by the store's clock, whatever the times in a turn are", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const inAnHour = Date.now() + 3_600_000;
    const turn = await openSampleTurn(store, openingOf(draftOf(session, { createdAt: inAnHour }), { leaseMs }));
    // The clock of no machine that runs these tests is wrong by half an hour.
    assert.ok(Math.abs(turn.leaseExpiresAt - leaseMs - Date.now()) < 1_800_000);
    assert.deepEqual(await store.runners.takeLostTurns(takingOf()), []);
  });

  test("[R1] renewing gives the named turns of the runner a new lease, and returns which turns those are", async (context) => {
    const { store } = await open(context);
    const mine = await startTurn(store, 0);
    const session = await startSession(store);
    const subagent = await openSampleTurn(
      store,
      openingOf(draftOf(session, { kind: "async_subagent" }), { leaseMs: 0 }),
    );
    const unnamed = await startTurn(store, 0);
    const theirs = await startTurn(store, 0, "runner-2");
    const ended = await runSampleTurn(store, (await startSession(store)).id);

    const turnIds = [mine.id, subagent.id, theirs.id, ended.id, newId()];
    const renewed = await store.runners.renewLeases({ runnerId: sampleRunnerId, turnIds, leaseMs });
    assert.deepEqual(renewed.toSorted(), [mine.id, subagent.id].toSorted());
    const after = await store.turns.get(mine.id);
    assert.ok(after?.status === "pending" && after.leaseExpiresAt >= mine.leaseExpiresAt + leaseMs);
    assert.deepEqual(after, { ...mine, leaseExpiresAt: after.leaseExpiresAt });
    for (const turn of [unnamed, theirs, ended]) assert.deepEqual(await store.turns.get(turn.id), turn);
    // A renewal that was sent earlier and arrives later does not shorten the lease.
    assert.deepEqual(await store.runners.renewLeases({ runnerId: sampleRunnerId, turnIds: [mine.id], leaseMs: 0 }), [
      mine.id,
    ]);
    assert.deepEqual(await store.turns.get(mine.id), after);
    assert.deepEqual(await store.runners.renewLeases({ runnerId: sampleRunnerId, turnIds: [], leaseMs }), []);
  });

  test("[R2] the turn of a spared runner is not lost, even if its lease has expired", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store, 0);
    assert.deepEqual(await store.runners.takeLostTurns({ ...takingOf(), sparedRunnerIds: [sampleRunnerId] }), []);
    assert.deepEqual(await store.turns.get(turn.id), turn);
    const others = { ...takingOf(), sparedRunnerIds: ["runner-2"] };
    assert.equal((await store.runners.takeLostTurns(others)).length, 1);
  });

  test("[R1] [R2] a lost turn gets a new runner, and its former runner cannot write to it any more", async (context) => {
    const { store } = await open(context);
    const lost = await startTurn(store, 0);
    const held = await startTurn(store, leaseMs);
    const ended = await startTurn(store, 0);
    await finishSampleTurn(store, failedSample(ended));

    const taken = await store.runners.takeLostTurns(takingOf());
    const now = await store.turns.get(lost.id);
    assert.deepEqual(taken, [{ turn: now, lostBy: sampleRunnerId }]);
    assert.ok(now?.status === "pending" && now.leaseExpiresAt > lost.leaseExpiresAt);
    assert.deepEqual(now, { ...lost, runnerId: "rescuer", leaseExpiresAt: now.leaseExpiresAt });
    assert.deepEqual(await store.turns.get(held.id), held);
    assert.deepEqual(await store.runners.takeLostTurns(takingOf()), [], "it has a new lease");

    assert.deepEqual(await store.turns.finish(turnFinishOf(completedSample(lost))), { outcome: "refused", turn: now });
    assert.equal(await store.turns.insertStep(stepOf(lost.id, 1), sampleRunnerId), false);
    assert.deepEqual(await store.runners.renewLeases({ runnerId: sampleRunnerId, turnIds: [lost.id], leaseMs }), []);
    assert.deepEqual(await store.turns.listSteps(lost.id), []);
    assert.equal(await store.turns.insertStep(stepOf(lost.id, 1), "rescuer"), true);
    await finishSampleTurn(store, failedSample(lost), { runnerId: "rescuer" });
    assert.equal(await store.turns.insertStep(stepOf(lost.id, 2), "rescuer"), false, "it has ended (T2)");
    assert.equal(await store.turns.insertStep(stepOf(newId(), 1), "rescuer"), false);
  });

  test("[R2] turns of a runner that is known to be dead are lost at once; a single turn can be requested", async (context) => {
    const { store } = await open(context);
    const turns = [await startTurn(store, leaseMs, "dead"), await startTurn(store, leaseMs, "dead")];
    const other = await startTurn(store, leaseMs);
    const ids = turns.map(({ id }) => id);
    const dead = takingOf({ deadRunnerIds: ["dead", "long gone"] });
    assert.deepEqual(await store.runners.takeLostTurns({ ...dead, turnId: other.id }), []);
    const [one] = await store.runners.takeLostTurns({ ...dead, turnId: ids[1] ?? "" });
    assert.equal(one?.turn.id, ids[1]);
    assert.equal(one?.lostBy, "dead");
    assert.deepEqual(
      (await store.runners.takeLostTurns(dead)).map(({ turn }) => turn.id),
      [ids[0]],
    );
    assert.deepEqual(await store.turns.get(other.id), other);
  });

  test("[R2] [B4] several runners that take lost turns at once share them, each as many as it requested", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [store] = stores;
    const lost: string[] = [];
    for (let count = 0; count < 12; count += 1) lost.push((await startTurn(store, 0)).id);
    const taken: string[] = [];
    for (let round = 0; round < 12 && taken.length < lost.length; round += 1) {
      const takings: Promise<LostTurn[]>[] = ["a", "b", "c"].map((runnerId, at) =>
        (stores[at % stores.length] ?? store).runners.takeLostTurns(takingOf({ runnerId, limit: 2 })),
      );
      for (const found of await Promise.all(takings)) {
        assert.ok(found.length <= 2);
        taken.push(...found.map(({ turn }) => turn.id));
      }
    }
    assert.deepEqual(taken.toSorted(), lost.toSorted());
  });
}
