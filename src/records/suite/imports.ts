/** What a store must do with imported turns: keep them unchanged, all of them or none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import { archiveTurn, type FinishedTurn, type PendingTurn } from "../../domain/turn.ts";
import type { ImportedRecords, ImportedTurn, SessionGrowth } from "../record-store.ts";
import {
  ada,
  completedSample,
  draftOf,
  failedSample,
  noon,
  openSampleTurn,
  openingOf,
  sampleOrgId,
  parkedSample,
  pendingOf,
  readSession,
  runSampleTurn,
  sessionOf,
  startSession,
  stepOf,
  type OpenRecordsForTest,
  type RecordsWith,
  inviteUser,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "search" | "imports" | "purges";
type Records = RecordsWith<Parts>;

const eve = "user-eve";

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

function importOf(turns: AsyncIterable<ImportedTurn>, over: Partial<ImportedRecords> = {}): ImportedRecords {
  return { sessions: [], growths: [], parents: [], turns, ...over };
}

function imported(turn: ImportedTurn["turn"], over: Partial<ImportedTurn> = {}): ImportedTurn {
  return {
    turn,
    steps: [stepOf(turn.id, 1), stepOf(turn.id, 2)],
    text: { instruction: "ask", answer: "say" },
    ...over,
  };
}

/** Returns a session with a turn of every kind, as in an export. */
function sample() {
  const session = {
    ...sessionOf({ userId: eve }),
    lastSequence: 4,
    lastTurnStatus: "failed" as const,
    lastTurnAt: noon,
  };
  const end = (sequence: number, way: (turn: PendingTurn) => FinishedTurn, parent: string | null): FinishedTurn =>
    way(pendingOf(draftOf(session, { parentId: parent, createdBy: ada }), sequence));
  const first = end(1, completedSample, null);
  const second = end(2, parkedSample, first.id);
  const away = archiveTurn(end(3, completedSample, first.id), noon + 5);
  const last = end(4, failedSample, second.id);
  return { session: { ...session, headTurnId: second.id }, turns: [first, second, away, last] };
}

async function unchanged(store: Records, attempt: ImportedRecords): Promise<void> {
  assert.deepEqual(await store.imports.insert(attempt), { outcome: "changed" });
}

export function importTests(open: OpenRecordsForTest<Parts>): void {
  test("[T3] [B1] imported turns come back as they were imported, with their steps", async (context) => {
    const { store } = await open(context);
    const { session, turns } = sample();
    const all = turns.map((turn) => imported(turn));
    const result = await store.imports.insert(importOf(each(all), { sessions: [session] }));
    assert.deepEqual(result, { outcome: "imported" });
    assert.deepEqual(await readSession(store, session.id), session);
    assert.deepEqual(await store.turns.list(session.id, { limit: 10 }), turns.toReversed());
    for (const { turn, steps } of all) assert.deepEqual(await store.turns.listSteps(turn.id), steps);
  });

  test("[T1] after an import a session continues where it ended", async (context) => {
    const { store } = await open(context);
    const { session, turns } = sample();
    await store.imports.insert(importOf(each(turns.map((turn) => imported(turn))), { sessions: [session] }));
    const next = await runSampleTurn(store, session.id);
    assert.deepEqual([next.sequence, next.parentId], [5, session.headTurnId]);
  });

  test("[S7] [S8] imported turns are found by their texts, and make only the owner a participant of the session", async (context) => {
    const { store } = await open(context);
    const { session, turns } = sample();
    const text = { instruction: "Where is the needle?", answer: "In the haystack." };
    const all = turns.map((turn, index) => imported(turn, index === 1 ? { text } : {}));
    await store.imports.insert(importOf(each(all), { sessions: [session] }));
    const find = async (userId: string) =>
      await store.search.find({ orgId: sampleOrgId, userId, words: ["needle"], limit: 10 });
    assert.deepEqual(
      (await find(eve)).map((hit) => [hit.session.id, hit.matches[0]?.turnId]),
      [[session.id, turns[1]?.id]],
    );
    assert.deepEqual(await find(ada), []);
    assert.equal(await store.sessions.isParticipant(session.id, ada), false);
    assert.deepEqual((await store.sessions.list({ orgId: sampleOrgId, userId: ada, limit: 10 })).sessions, []);
    await inviteUser(store, session.id, ada);
    assert.equal(await store.sessions.isParticipant(session.id, ada), true);
  });

  test("[B1] many turns that are imported one after the other are all stored", async (context) => {
    const { store } = await open(context);
    const session = { ...sessionOf(), lastSequence: 230 };
    async function* many(): AsyncGenerator<ImportedTurn> {
      for (let sequence = 1; sequence <= 230; sequence += 1)
        yield imported(completedSample(pendingOf(draftOf(session), sequence)));
    }
    await store.imports.insert(importOf(many(), { sessions: [session] }));
    const sequences = (await store.turns.list(session.id, { limit: 300 })).map((turn) => turn.sequence);
    assert.deepEqual(
      sequences,
      Array.from({ length: 230 }, (_, index) => 230 - index),
    );
  });

  test("[B1] an error while importing, or a duplicate turn, undoes the whole import", async (context) => {
    const { store } = await open(context);
    const { session, turns } = sample();
    const all = turns.map((turn) => imported(turn));
    async function* broken(): AsyncGenerator<ImportedTurn> {
      yield* all;
      throw new Error("the file is gone");
    }
    await assert.rejects(store.imports.insert(importOf(broken(), { sessions: [session] })));
    const [first = assert.fail()] = all;
    const other = await runSampleTurn(store, (await startSession(store)).id);
    await unchanged(store, importOf(each([...all, imported({ ...other, sequence: 9 })]), { sessions: [session] }));
    const sameNumber = { ...first.turn, id: newId(), sessionId: other.sessionId, sequence: other.sequence };
    await unchanged(store, importOf(each([...all, imported(sameNumber)]), { sessions: [session] }));
    await unchanged(store, importOf(each(all), { sessions: [session], parents: [newId()] }));
    assert.equal(await store.sessions.get(session.id), null);
    assert.equal(await store.turns.get(first.turn.id), null);
    assert.deepEqual(await store.turns.listSteps(first.turn.id), []);
    assert.equal((await store.imports.insert(importOf(each(all), { sessions: [session] }))).outcome, "imported");
    await unchanged(store, importOf(each([]), { sessions: [session] }));
  });

  test("[S5] an existing session is extended only if it is unchanged since the caller saw it", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const first = await runSampleTurn(store, session.id);
    const here = await readSession(store, session.id);
    const turn = completedSample(pendingOf(draftOf(here, { createdAt: noon + 10 }), 2));
    const growth: SessionGrowth = {
      sessionId: session.id,
      seen: { lastSequence: 1, headTurnId: first.id },
      headTurnId: turn.id,
      lastSequence: 2,
      lastTurnStatus: "completed",
      lastTurnAt: turn.statusAt,
      activeAt: here.activeAt - 5,
      tokens: 40,
      costUsd: 0.25,
    };
    const attempt = (over: Partial<SessionGrowth>) =>
      importOf(each([imported(turn)]), { growths: [{ ...growth, ...over }], parents: [first.id] });
    await unchanged(store, attempt({ seen: { lastSequence: 0, headTurnId: first.id } }));
    await unchanged(store, attempt({ seen: { lastSequence: 1, headTurnId: null } }));
    await unchanged(store, attempt({ sessionId: newId() }));
    await store.sessions.update(session.id, { archivedAt: noon }, here.updatedAt);
    await unchanged(store, attempt({}));
    await store.sessions.update(session.id, { archivedAt: null, deletedAt: noon }, here.updatedAt);
    await unchanged(store, attempt({}));
    await store.sessions.update(session.id, { deletedAt: null }, here.updatedAt);
    assert.deepEqual(await readSession(store, session.id), here);

    assert.deepEqual(await store.imports.insert(attempt({})), { outcome: "imported" });
    const { lastTurnAt } = growth;
    const sums = { tokensTotal: here.tokensTotal + 40, costUsd: here.costUsd + 0.25 };
    const after = { headTurnId: turn.id, lastSequence: 2, lastTurnAt, ...sums };
    assert.deepEqual(await readSession(store, session.id), { ...here, ...after });
  });

  test("[S6] imported turns are purged like others, except those that other sessions need", async (context) => {
    const { store } = await open(context);
    const { session, turns } = sample();
    await store.imports.insert(importOf(each(turns.map((turn) => imported(turn))), { sessions: [session] }));
    const [first = assert.fail(), second = assert.fail()] = turns;
    const fork = sessionOf({ originTurnId: second.id });
    await openSampleTurn(
      store,
      openingOf(draftOf(fork, { parentId: second.id }), { newSession: fork, expectedHead: null }),
    );
    assert.deepEqual((await store.purges.sharedTurnIds(session.id)).toSorted(), [first.id, second.id].toSorted());
    assert.equal(await store.purges.purgeSession(session.id, [first.id, second.id]), true);
    assert.deepEqual(
      (await store.turns.list(session.id, { limit: 10 })).map((turn) => turn.id),
      [second.id, first.id],
    );
  });
}
