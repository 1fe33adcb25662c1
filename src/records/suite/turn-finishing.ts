/** What a store must do when a turn ends: one finisher, one head, and a session with the right sums. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import { archiveTurn, type CompletedTurn, type PendingTurn } from "../../domain/turn.ts";
import {
  completedSample,
  draftOf,
  runEndOf,
  failedSample,
  finishSampleTurn,
  turnFinishOf,
  noon,
  openSampleTurn,
  openingOf,
  parkedSample,
  pendingOf,
  readSession,
  sampleRunnerId,
  sealedFailureSample,
  runSampleTurn,
  startSession,
  stepOf,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns";
type Records = RecordsWith<Parts>;

async function startTurn(store: Records): Promise<PendingTurn> {
  return await openSampleTurn(store, openingOf(draftOf(await startSession(store))));
}

export function turnFinishingTests(open: OpenRecordsForTest<Parts>): void {
  archivingTests(open);
  historyKeyTests(open);
  test("[T2] the second of two finishers changes nothing", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    const first = completedSample(turn);
    await finishSampleTurn(store, first);
    const session = await readSession(store, turn.sessionId);
    for (const late of [failedSample(turn), completedSample(turn, { at: noon + 9_000 })]) {
      const result = await store.turns.finish(turnFinishOf(late));
      assert.deepEqual(result, { outcome: "refused", turn: first });
    }
    assert.deepEqual(await store.turns.get(turn.id), first);
    assert.deepEqual(await readSession(store, turn.sessionId), session);
  });

  test("[T2] when many finish a turn at once, one writes, and the others see what it wrote", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    const ends = Array.from({ length: 10 }, (_, index) => failedSample(turn, { at: noon + index }));
    const results = await Promise.all(ends.map((end) => store.turns.finish(turnFinishOf(end))));
    const winners = ends.filter((_, index) => results[index]?.outcome === "finished");
    assert.equal(winners.length, 1);
    const refusals = results.filter((result) => result.outcome === "refused");
    for (const refusal of refusals) assert.deepEqual(refusal.turn, winners[0]);
    assert.deepEqual(await store.turns.get(turn.id), winners[0]);
    assert.equal((await readSession(store, turn.sessionId)).tokensTotal, 500);
  });

  test("[T2] a turn that does not exist cannot be finished", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const never = pendingOf(draftOf(session), 1);
    const result = await store.turns.finish(turnFinishOf(completedSample(never)));
    assert.deepEqual(result, { outcome: "refused", turn: null });
    assert.deepEqual(await readSession(store, session.id), session);
  });

  test("[R1] a runner that does not hold the turn cannot write it", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    const session = await readSession(store, turn.sessionId);
    for (const runnerId of ["runner-2", ""]) {
      const result = await store.turns.finish(turnFinishOf(completedSample(turn), { runnerId }));
      assert.deepEqual(result, { outcome: "refused", turn });
    }
    assert.deepEqual(await store.turns.get(turn.id), turn);
    assert.deepEqual(await readSession(store, turn.sessionId), session);
  });

  test("[S5] the head moves to a turn that completed or waits, and stays where one failed", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    const { sessionId } = turn;
    await finishSampleTurn(store, completedSample(turn));
    assert.equal((await readSession(store, sessionId)).headTurnId, turn.id);

    const waiting = await openSampleTurn(store, openingOf(draftOf(await readSession(store, sessionId))));
    await finishSampleTurn(store, parkedSample(waiting));
    assert.equal((await readSession(store, sessionId)).headTurnId, waiting.id);

    const broken = await openSampleTurn(store, openingOf(draftOf(await readSession(store, sessionId))));
    await finishSampleTurn(store, failedSample(broken), { head: { from: waiting.id } });
    assert.equal((await readSession(store, sessionId)).headTurnId, waiting.id);
  });

  test("[S5] [T12] the head moves to a failed turn that has a state, and may be moved away from it and back", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    const { sessionId } = turn;
    await finishSampleTurn(store, completedSample(turn));
    const cut = await openSampleTurn(store, openingOf(draftOf(await readSession(store, sessionId))));
    await finishSampleTurn(store, sealedFailureSample(cut));
    assert.equal((await readSession(store, sessionId)).headTurnId, cut.id);
    const move = { sessionId, from: cut.id, to: turn.id, userId: turn.createdBy, at: noon };
    assert.equal((await store.sessions.moveHead(move)).outcome, "moved");
    assert.equal((await store.sessions.moveHead({ ...move, from: turn.id, to: cut.id })).outcome, "moved");
    assert.equal((await store.sessions.moveHead({ ...move, from: cut.id, to: null })).outcome, "moved");
    assert.equal((await readSession(store, sessionId)).headTurnId, null);
    const moves = await store.sessions.listHeadMoves(sessionId);
    assert.deepEqual(
      moves.map(({ to }) => to),
      [turn.id, cut.id, null],
    );
  });

  test("[S5] the head moves only from the turn's parent, and only if that is requested", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const root = await runSampleTurn(store, session.id);
    const head = await runSampleTurn(store, session.id);

    const beside = draftOf(session, { parentId: root.id, depth: 2 });
    const turn = await openSampleTurn(store, openingOf(beside, { expectedHead: head.id }));
    await finishSampleTurn(store, completedSample(turn));
    assert.equal((await readSession(store, session.id)).headTurnId, head.id);
    assert.equal((await store.turns.get(turn.id))?.status, "completed");

    const quiet = await openSampleTurn(store, openingOf(draftOf(await readSession(store, session.id))));
    await finishSampleTurn(store, completedSample(quiet), { head: null });
    assert.equal((await readSession(store, session.id)).headTurnId, head.id);
  });

  test("[S5] a fork's first turn moves the head from the turn at which the fork started", async (context) => {
    const { store } = await open(context);
    const origin = await runSampleTurn(store, (await startSession(store)).id);
    const fork = await startSession(store, { originTurnId: origin.id, headTurnId: origin.id });
    const turn = await runSampleTurn(store, fork.id);
    assert.equal(turn.parentId, origin.id);
    assert.equal(turn.sequence, 1);
    assert.equal((await readSession(store, fork.id)).headTurnId, turn.id);
    assert.equal((await readSession(store, origin.sessionId)).headTurnId, origin.id);
  });

  test("[S5] a subagent's turn never becomes the head", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const subagent = await openSampleTurn(store, openingOf(draftOf(session, { kind: "async_subagent" })));
    await finishSampleTurn(store, completedSample(subagent), { head: { from: null } });
    assert.equal((await readSession(store, session.id)).headTurnId, null);
  });

  test("[R2] [T2] the last steps are stored together with the end of the turn; a refused end stores none", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    const [first, second, third] = [stepOf(turn.id, 1), stepOf(turn.id, 2), stepOf(turn.id, 3)];
    await store.turns.insertStep(first, sampleRunnerId);
    const steps = [second, third];
    const text = { instruction: "plum", answer: "" };
    const refused = await store.turns.finish(
      turnFinishOf(completedSample(turn), { steps, text, runnerId: "runner-2" }),
    );
    assert.equal(refused.outcome, "refused");
    assert.deepEqual(await store.turns.listSteps(turn.id), [first]);
    await finishSampleTurn(store, completedSample(turn), { steps, text });
    assert.deepEqual(await store.turns.listSteps(turn.id), [first, second, third]);
  });

  test("[B1] if one of the last steps is stored already, nothing of the end is stored", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    await store.turns.insertStep(stepOf(turn.id, 2), sampleRunnerId);
    const before = await readSession(store, turn.sessionId);
    const steps = [stepOf(turn.id, 1), stepOf(turn.id, 2)];
    await assert.rejects(store.turns.finish(turnFinishOf(completedSample(turn), { steps })), {
      code: "storage_failed",
    });
    assert.deepEqual(await store.turns.get(turn.id), turn);
    assert.deepEqual(await store.turns.listSteps(turn.id), [stepOf(turn.id, 2)]);
    assert.deepEqual(await readSession(store, turn.sessionId), before);
  });

  test("[S7] a session adds up the tokens of its turns and has the status of the newest one", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const older = await openSampleTurn(
      store,
      openingOf(draftOf(session, { kind: "async_subagent", createdAt: noon + 10 })),
    );
    const newest = await openSampleTurn(store, openingOf(draftOf(session, { createdAt: noon + 20 })));
    await finishSampleTurn(store, failedSample(newest, { at: noon + 30 }));
    const sums = { lastSequence: 2, lastTurnStatus: "failed", lastTurnAt: noon + 30 };
    assert.deepEqual(await readSession(store, session.id), {
      ...session,
      ...sums,
      activeAt: noon + 30,
      tokensTotal: 500,
    });
    await finishSampleTurn(store, completedSample(older, { at: noon + 40 }));
    assert.deepEqual(await readSession(store, session.id), {
      ...session,
      ...sums,
      activeAt: noon + 40,
      tokensTotal: 1_000,
    });
  });

  test("[T4] [S7] a session adds up the costs of its turns; a turn without a known price adds nothing", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const costs: number[] = [];
    for (const costUsd of [undefined, 0.1, 0.2, undefined, 1e-7]) {
      const turn = await openSampleTurn(store, openingOf(draftOf(await readSession(store, session.id))));
      const { run } = runEndOf(turn);
      const usage = { ...run.usage, ...(costUsd === undefined ? {} : { costUsd }) };
      const end = completedSample(turn, { run: { ...run, usage, byModel: { [turn.model]: usage } } });
      await finishSampleTurn(store, end);
      assert.deepEqual(await store.turns.get(turn.id), end);
      costs.push((await readSession(store, session.id)).costUsd);
    }
    assert.deepEqual(costs, [0, 0.1, 0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2 + 1e-7]);
  });
}

function archivingTests(open: OpenRecordsForTest<Parts>): void {
  test("[T2] [S5] a finished turn that nothing continues is archived once, and keeps its outcome", async (context) => {
    const { store } = await open(context);
    const { id: sessionId } = await startSession(store);
    const root = await runSampleTurn(store, sessionId);
    const left = await runSampleTurn(store, sessionId);
    assert.deepEqual(await store.turns.archive({ turnId: left.id, at: noon }), { outcome: "needed", by: "head" });
    const move = { sessionId, from: left.id, to: root.id, userId: "user-ada", at: noon };
    assert.deepEqual(await store.sessions.moveHead(move), { outcome: "moved" });
    const archived = archiveTurn(left, noon + 7);
    const result = { outcome: "archived", turn: archived };
    assert.deepEqual(await store.turns.archive({ turnId: left.id, at: noon + 7 }), result);
    assert.deepEqual(await store.turns.archive({ turnId: left.id, at: noon + 8 }), result);
    assert.deepEqual(await store.turns.get(left.id), archived);
    const { headTurnId, lastTurnStatus } = (await readSession(store, sessionId)) ?? assert.fail();
    assert.deepEqual([headTurnId, lastTurnStatus], [root.id, "archived"]);
    const next = { ...move, from: root.id, to: left.id };
    assert.deepEqual(await store.sessions.moveHead(next), { outcome: "missing" }, "it is never a head again");
  });

  test("[T2] a turn that runs, is continued, is forked, or is a subagent's is not archived", async (context) => {
    const { store } = await open(context);
    const { id: sessionId } = await startSession(store);
    const root = await runSampleTurn(store, sessionId);
    const child = await runSampleTurn(store, sessionId);
    const archive = (turnId: string) => store.turns.archive({ turnId, at: noon });
    const toNone = { sessionId, from: child.id, to: null, userId: "user-ada", at: noon };
    await store.sessions.moveHead(toNone);
    assert.deepEqual(await archive(root.id), { outcome: "needed", by: "turn" });
    const fork = await startSession(store, { originTurnId: child.id, headTurnId: null });
    assert.deepEqual(await archive(child.id), { outcome: "needed", by: "fork" });
    assert.deepEqual(await archive(newId()), { outcome: "missing" });
    const running = await openSampleTurn(store, openingOf(draftOf(fork)));
    assert.deepEqual(await archive(running.id), { outcome: "pending" });
    assert.deepEqual(await store.turns.get(child.id), child);
  });
}

function historyKeyTests(open: OpenRecordsForTest<Parts>): void {
  test("[O5] an author finds their turns by the keys of histories, newest first", async (context) => {
    const { store, reopen } = await open(context);
    const finished = async (at: number, historyKey?: string): Promise<CompletedTurn> => {
      const session = await startSession(store);
      const turn = await openSampleTurn(store, openingOf(draftOf(session, { createdAt: at })));
      const key = historyKey === undefined ? {} : { historyKey };
      const end = { ...completedSample(turn), ...key };
      await finishSampleTurn(store, end);
      return end;
    };
    const ends = [await finished(noon, "one"), await finished(noon + 1, "two"), await finished(noon + 2)];
    const author = ends[0]?.createdBy ?? "";
    for (const records of reopen === null ? [store] : [store, await reopen()]) {
      assert.deepEqual(await records.turns.get(ends[1]?.id ?? ""), ends[1]);
      const found = await records.turns.findByHistory(author, ["one", "two", "three"]);
      assert.deepEqual(found.map(({ historyKey }) => historyKey).toSorted(), ["one", "two"]);
      assert.deepEqual(await records.turns.findByHistory(author, ["three"]), []);
      assert.deepEqual(await records.turns.findByHistory(author, []), []);
      assert.deepEqual(await records.turns.findByHistory(newId(), ["one"]), []);
    }
  });

  test("[O2] hiding a turn adds the time once, and leaves the rest as it was", async (context) => {
    const { store } = await open(context);
    const turn = await startTurn(store);
    assert.equal(await store.turns.hide({ turnId: turn.id, at: noon }), false);
    const end = completedSample(turn);
    await finishSampleTurn(store, end);
    for (const at of [noon + 1, noon + 2]) assert.equal(await store.turns.hide({ turnId: turn.id, at }), true);
    assert.deepEqual(await store.turns.get(turn.id), { ...end, hiddenAt: noon + 1 });
    assert.equal(await store.turns.hide({ turnId: newId(), at: noon }), false);
  });
}
