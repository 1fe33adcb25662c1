/** What a store must do when a user moves a head, and when a turn replaces a head that is not its parent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { Session } from "../../domain/session.ts";
import type { FinishedTurn, Turn } from "../../domain/turn.ts";
import type { HeadMove, SessionQuery } from "../record-store.ts";
import {
  ada,
  completedSample,
  draftOf,
  failedSample,
  finishSampleTurn,
  turnFinishOf,
  forkOf,
  noon,
  openSampleTurn,
  openingOf,
  openTwice,
  parkedSample,
  readSession,
  runSampleFork,
  runSampleTurn,
  sampleOrgId,
  sessionOf,
  startSession,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns";
type Records = RecordsWith<Parts>;

interface Line {
  sessionId: string;
  older: FinishedTurn;
  head: FinishedTurn;
}

/** Creates a session with two turns. */
async function startLine(store: Records): Promise<Line> {
  const { id } = await startSession(store);
  return { sessionId: id, older: await runSampleTurn(store, id), head: await runSampleTurn(store, id) };
}

function moveOf({ sessionId, head }: Line, to: Turn, over: Partial<HeadMove> = {}): HeadMove {
  return { sessionId, from: head.id, to: to.id, userId: ada, at: noon + 60_000, ...over };
}

export function sessionTreeTests(open: OpenRecordsForTest<Parts>): void {
  test("[T6] [B1] a session is read with the turn that its next turn follows", async (context) => {
    const { store } = await open(context);
    const { id } = await startSession(store);
    assert.deepEqual(await store.sessions.getWithHead(id), { session: await readSession(store, id), head: null });
    const older = await runSampleTurn(store, id);
    const head = await runSampleTurn(store, id);
    assert.deepEqual(await store.sessions.getWithHead(id), { session: await readSession(store, id), head });
    await store.sessions.moveHead(moveOf({ sessionId: id, older, head }, older));
    assert.deepEqual((await store.sessions.getWithHead(id))?.head, older);
    // A fork that has no turn of its own begins where it was forked.
    const fork = sessionOf({ originTurnId: head.id });
    await store.sessions.insert(fork);
    assert.deepEqual(await store.sessions.getWithHead(fork.id), { session: fork, head });
    assert.equal(await store.sessions.getWithHead(newId()), null);
  });

  test("[S5] [T6] the head moves to another turn of its session; each move is recorded, in order", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store);
    const { sessionId, older, head } = line;
    await runSampleFork(store, head);
    const before = await readSession(store, sessionId);
    const back = moveOf(line, older, { userId: "user-bob" });
    // Both moves have the same time, so their order is that of the moves.
    const forth = moveOf(line, head, { from: older.id });
    assert.deepEqual(await store.sessions.moveHead(back), { outcome: "moved" });
    assert.deepEqual(await readSession(store, sessionId), { ...before, headTurnId: older.id, updatedAt: back.at });
    assert.deepEqual(await store.sessions.moveHead(forth), { outcome: "moved" });
    assert.deepEqual(await readSession(store, sessionId), { ...before, updatedAt: forth.at });
    const none = moveOf(line, head, { from: head.id });
    assert.deepEqual(await store.sessions.moveHead(none), { outcome: "moved" }, "a move to where the head is");
    assert.deepEqual(await store.sessions.listHeadMoves(sessionId), [back, forth, none]);
    assert.deepEqual(await store.sessions.listHeadMoves(newId()), []);
    assert.deepEqual(await store.turns.list(sessionId, { limit: 10 }), [head, older]);
  });

  test("[S5] a session without a head gets one", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const turn = completedSample(await openSampleTurn(store, openingOf(draftOf(session))));
    await finishSampleTurn(store, turn, { head: null });
    const move = { sessionId: session.id, from: null, to: turn.id, userId: ada, at: noon };
    assert.deepEqual(await store.sessions.moveHead(move), { outcome: "moved" });
    assert.equal((await readSession(store, session.id)).headTurnId, turn.id);
    assert.deepEqual(await store.sessions.listHeadMoves(session.id), [move]);
  });

  test("[S5] the head moves only from the value last seen; a refused caller gets the current head", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store);
    const before = await readSession(store, line.sessionId);
    for (const from of [null, line.older.id, newId()]) {
      const result = await store.sessions.moveHead(moveOf(line, line.older, { from }));
      assert.deepEqual(result, { outcome: "head_moved", headTurnId: line.head.id });
    }
    assert.deepEqual(await readSession(store, line.sessionId), before);
    assert.deepEqual(await store.sessions.listHeadMoves(line.sessionId), []);
  });

  test("[S5] a head is an agent turn of the same session that completed or waits", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store);
    const session = await readSession(store, line.sessionId);
    const below = (over = {}) => openSampleTurn(store, openingOf(draftOf(session, over)));
    const broken = failedSample(await below());
    await finishSampleTurn(store, broken);
    const subagent = completedSample(await below({ kind: "async_subagent" }));
    await finishSampleTurn(store, subagent, { head: null });
    const foreign = await runSampleFork(store, line.older);
    for (const to of [broken.id, subagent.id, foreign.id, newId()]) {
      assert.deepEqual(await store.sessions.moveHead({ ...moveOf(line, line.older), to }), { outcome: "missing" });
    }
    assert.equal((await readSession(store, session.id)).headTurnId, line.head.id);
    assert.deepEqual(await store.sessions.listHeadMoves(session.id), []);

    const waiting = parkedSample(await below());
    await finishSampleTurn(store, waiting, { head: null });
    assert.deepEqual(await store.sessions.moveHead(moveOf(line, waiting)), { outcome: "moved" });
  });

  test("[S5] the head stays while a turn of its session runs; a subagent's turn does not prevent a move", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store);
    const session = await readSession(store, line.sessionId);
    await openSampleTurn(store, openingOf(draftOf(session, { kind: "async_subagent" })));
    const running = await openSampleTurn(store, openingOf(draftOf(session)));
    const busy = { outcome: "busy", runningTurnId: running.id };
    assert.deepEqual(await store.sessions.moveHead(moveOf(line, line.older)), busy);
    assert.equal((await readSession(store, session.id)).headTurnId, line.head.id);
    await finishSampleTurn(store, failedSample(running));
    assert.deepEqual(await store.sessions.moveHead(moveOf(line, line.older)), { outcome: "moved" });
  });

  test("[S6] the head of an archived, deleted or unknown session stays", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store);
    const { sessionId } = line;
    await store.sessions.update(sessionId, { archivedAt: noon }, noon);
    assert.deepEqual(await store.sessions.moveHead(moveOf(line, line.older)), { outcome: "archived" });
    await store.sessions.update(sessionId, { deletedAt: noon }, noon);
    assert.deepEqual(await store.sessions.moveHead(moveOf(line, line.older)), { outcome: "missing" });
    assert.deepEqual(await store.sessions.moveHead(moveOf(line, line.older, { sessionId: newId() })), {
      outcome: "missing",
    });
    assert.equal((await readSession(store, sessionId)).headTurnId, line.head.id);
  });

  test("[S5] when several moves start from the same head at once, one succeeds, and the others get the new head", async (context) => {
    const { store } = await open(context);
    const { id: sessionId } = await startSession(store);
    const targets: FinishedTurn[] = [];
    for (let count = 0; count < 6; count += 1) targets.push(await runSampleTurn(store, sessionId));
    const [head, ...others] = targets.toReversed();
    assert.ok(head !== undefined);
    const moves = others.map((to) => moveOf({ sessionId, older: to, head }, to));
    const results = await Promise.all(moves.map((move) => store.sessions.moveHead(move)));
    const winners = moves.filter((_, index) => results[index]?.outcome === "moved");
    assert.equal(winners.length, 1);
    assert.deepEqual(await store.sessions.listHeadMoves(sessionId), winners);
    const lost = results.filter((result) => result.outcome !== "moved");
    for (const result of lost) assert.deepEqual(result, { outcome: "head_moved", headTurnId: winners[0]?.to });
  });

  test("[S5] [T5] when a turn opens and the head moves at once, one of them is refused", async (context) => {
    const { store } = await open(context);
    await raceOpeningAndMoves([store, store]);
  });

  test("[S5] [B4] a head does not move while a turn opens on it, also across two processes", async (context) => {
    const stores = await openTwice(context, open);
    if (stores !== null) await raceOpeningAndMoves(stores);
  });

  test("[S5] a head move while a turn ends is refused as busy or as too late", async (context) => {
    const { store } = await open(context);
    for (let round = 0; round < 20; round += 1) {
      const line = await startLine(store);
      const end = completedSample(
        await openSampleTurn(store, openingOf(draftOf(await readSession(store, line.sessionId)))),
      );
      const [finished, moved] = await Promise.all([
        store.turns.finish(turnFinishOf(end)),
        store.sessions.moveHead(moveOf(line, line.older)),
      ]);
      assert.equal(finished.outcome, "finished");
      assert.ok(moved.outcome === "busy" || moved.outcome === "head_moved", moved.outcome);
      assert.equal((await readSession(store, line.sessionId)).headTurnId, end.id);
    }
  });

  test("[T7] a rerun of the head becomes the head; the old turn stays unchanged", async (context) => {
    const { store } = await open(context);
    const { sessionId, older, head } = await startLine(store);
    const session = await readSession(store, sessionId);
    const place = { parentId: older.id, depth: head.depth, rerunOf: head.id };
    const rerun = completedSample(
      await openSampleTurn(store, openingOf(draftOf(session, place), { expectedHead: head.id })),
    );
    assert.equal(rerun.sequence, 3);
    await finishSampleTurn(store, rerun, { head: { from: head.id } });
    assert.equal((await readSession(store, sessionId)).headTurnId, rerun.id);
    assert.deepEqual(await store.turns.get(rerun.id), rerun);
    assert.deepEqual(await store.turns.get(head.id), head);
  });

  test("[T7] a rerun of a turn that is not the head leaves the head unchanged", async (context) => {
    const { store } = await open(context);
    const { sessionId, older, head } = await startLine(store);
    const place = { parentId: null, depth: 1, rerunOf: older.id };
    const draft = draftOf(await readSession(store, sessionId), place);
    const rerun = completedSample(await openSampleTurn(store, openingOf(draft, { expectedHead: head.id })));
    await finishSampleTurn(store, rerun, { head: { from: older.id } });
    assert.equal((await readSession(store, sessionId)).headTurnId, head.id);
    assert.deepEqual(await store.turns.get(rerun.id), rerun);
  });

  test("[T6] a fork can start from any turn of another session, and changes nothing there", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store);
    const before = await readSession(store, line.sessionId);
    const fork = await runSampleFork(store, line.older);
    assert.deepEqual([fork.parentId, fork.sequence, fork.depth], [line.older.id, 1, 2]);
    const session = await readSession(store, fork.sessionId);
    assert.deepEqual([session.originTurnId, session.headTurnId], [line.older.id, fork.id]);
    const next = await runSampleTurn(store, fork.sessionId);
    assert.deepEqual([next.parentId, next.sequence], [fork.id, 2]);
    assert.deepEqual(await readSession(store, line.sessionId), before);
    assert.deepEqual(await store.turns.list(line.sessionId, { limit: 10 }), [line.head, line.older]);
  });

  test("[T6] a turn that is gone cannot be forked", async (context) => {
    const { store } = await open(context);
    const { older } = await startLine(store);
    const opening = forkOf({ ...older, id: newId() });
    assert.deepEqual(await store.turns.open(opening), { outcome: "missing" });
    assert.equal(await store.sessions.get(opening.newSession.id), null);
    assert.equal(await store.turns.get(opening.turn.id), null);
  });

  test("[T6] [S7] forks are found by turn and by session, newest activity first, counted, as far as the user may see them", async (context) => {
    const { store } = await open(context);
    const { sessionId, older, head } = await startLine(store);
    const fork = (originTurnId: string, over: Partial<Session> = {}) => startSession(store, { originTurnId, ...over });
    const first = await fork(older.id, { activeAt: noon });
    const second = await fork(older.id, { activeAt: noon + 2 });
    const third = await fork(older.id, { activeAt: noon + 1 });
    const last = await fork(head.id);
    await fork(older.id, { deletedAt: noon });
    await fork(head.id, { userId: "user-bob" });
    const scope = { orgId: sampleOrgId, userId: ada };
    const ofOlder = { turnId: older.id, sessionId, sequence: older.sequence, depth: older.depth, count: 3 };
    const ofHead = { turnId: head.id, sessionId, sequence: head.sequence, depth: head.depth, count: 1 };
    const expected = [
      { ...ofOlder, newest: [second, third] },
      { ...ofHead, newest: [last] },
    ].toSorted((a, b) => (a.turnId < b.turnId ? -1 : 1));
    const unknown = Array.from({ length: 2_500 }, newId);
    const turnIds = [head.id, ...unknown, older.id, head.id];
    assert.deepEqual(await store.sessions.listForks({ ...scope, below: { turnIds }, perTurnMax: 2 }), expected);
    const below = { sessionIds: [sessionId, first.id] };
    assert.deepEqual(await store.sessions.listForks({ ...scope, below, perTurnMax: 2 }), expected);
    assert.deepEqual(await store.sessions.listForks({ ...scope, below: { turnIds: [] }, perTurnMax: 2 }), []);

    const listed = async (filter: Partial<SessionQuery>): Promise<Session[]> =>
      (await store.sessions.list({ ...scope, limit: 10, ...filter })).sessions;
    assert.deepEqual(await listed({ forkOf: older.id }), [second, third, first]);
    assert.deepEqual(
      (await listed({ isRoot: true })).map(({ id }) => id),
      [sessionId],
    );
    await store.sessions.update(sessionId, { deletedAt: noon }, noon);
    assert.deepEqual(new Set(await listed({ isRoot: true })), new Set([first, second, third, last]));
  });
}

async function raceOpeningAndMoves([one, other]: [Records, Records]): Promise<void> {
  const line = await startLine(one);
  const { sessionId, older, head } = line;
  for (let round = 0; round < 30; round += 1) {
    const opening = openingOf(draftOf(await readSession(one, sessionId)));
    // The request that is sent first changes from round to round.
    const early = round % 2 === 0 ? other.sessions.moveHead(moveOf(line, older)) : null;
    const opens = one.turns.open(opening);
    const [turn, moved] = await Promise.all([opens, early ?? other.sessions.moveHead(moveOf(line, older))]);
    const outcomes = `${turn.outcome} and ${moved.outcome}`;
    assert.ok(["opened and busy", "head_moved and moved"].includes(outcomes), outcomes);
    if (turn.outcome === "opened") await finishSampleTurn(one, failedSample(turn.turn));
    else await one.sessions.moveHead(moveOf(line, head, { from: older.id }));
    assert.equal((await readSession(one, sessionId)).headTurnId, head.id);
  }
}
