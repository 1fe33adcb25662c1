/** What a store must do when sessions are purged, and which turns and blobs are needed (S6, K4). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { CompletedTurn } from "../../domain/turn.ts";
import { purgeForestTests } from "./purge-forests.ts";
import {
  ada,
  completedSample,
  draftOf,
  failedSample,
  finishSampleTurn,
  forkOf,
  noon,
  openSampleTurn,
  openingOf,
  openTwice,
  sampleOrgId,
  readSession,
  requestOf,
  runSampleFork,
  sampleRunnerId,
  runSampleTurn,
  sessionOf,
  startSession,
  stepOf,
  type OpenRecordsForTest,
  type RecordsWith,
  inviteUser,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "search" | "purges";
type Records = RecordsWith<Parts>;

/** A session with a line of turns, the oldest first. */
async function startLine(store: Records, length: number): Promise<CompletedTurn[]> {
  const { id } = await startSession(store);
  const turns: CompletedTurn[] = [];
  for (let count = 0; count < length; count += 1) turns.push(await runSampleTurn(store, id));
  return turns;
}

function idsOf(turns: readonly { id: string }[]): string[] {
  return turns.map(({ id }) => id).toSorted();
}

async function shared(store: Records, sessionId: string): Promise<string[]> {
  return (await store.purges.sharedTurnIds(sessionId)).toSorted();
}

/** Fails unless the store has exactly these turns of the line, unchanged. */
async function hasOnly(store: Records, line: readonly CompletedTurn[], left: readonly CompletedTurn[]): Promise<void> {
  for (const turn of line) assert.deepEqual(await store.turns.get(turn.id), left.includes(turn) ? turn : null);
}

export function purgeTests(open: OpenRecordsForTest<Parts>): void {
  purgeForestTests(open);

  test("[S6] a session that was restored after it was seen as removed is not purged", async (context) => {
    const { store } = await open(context);
    const [turn] = await startLine(store, 1);
    assert.ok(turn !== undefined);
    const { sessionId } = turn;
    for (const deletedAt of [noon, null, noon + 1]) {
      await store.sessions.update(sessionId, { deletedAt }, noon);
      if (deletedAt !== noon) assert.equal(await store.purges.purgeSession(sessionId, [], noon), false);
    }
    assert.deepEqual(await store.turns.get(turn.id), turn);
    assert.equal(await store.purges.purgeSession(sessionId, [], noon + 1), true);
    assert.equal(await store.sessions.get(sessionId), null);
  });

  test("[S6] a purge of an unshared session deletes everything of it, and nothing of another", async (context) => {
    const { store } = await open(context);
    const [other] = await startLine(store, 2);
    const line = await startLine(store, 2);
    const sessionId = line[0]?.sessionId ?? "";
    await inviteUser(store, sessionId, "user-bob");
    const draft = draftOf(await readSession(store, sessionId), { createdBy: "user-bob" });
    const request = requestOf(draft);
    const last = await openSampleTurn(store, openingOf(draft, { idempotency: request }));
    await store.turns.insertStep(stepOf(last.id, 1), sampleRunnerId);
    await finishSampleTurn(store, completedSample(last), {
      steps: [stepOf(last.id, 2)],
      text: { instruction: "plum", answer: "" },
    });
    await store.sessions.moveHead({ sessionId, from: last.id, to: line[0]?.id ?? "", userId: ada, at: noon });

    assert.equal(await store.purges.purgeSession(sessionId, []), true);
    assert.equal(await store.sessions.get(sessionId), null);
    await hasOnly(store, [...line, completedSample(last)], []);
    assert.deepEqual(await store.turns.list(sessionId, { limit: 10 }), []);
    assert.deepEqual(await store.turns.listSteps(last.id), []);
    assert.deepEqual(await store.sessions.listHeadMoves(sessionId), []);
    assert.equal(await store.turns.findIdempotent(request.userId, request.key), null);
    assert.equal(await store.sessions.isParticipant(sessionId, "user-bob"), false);
    assert.deepEqual(await store.search.find({ orgId: sampleOrgId, userId: ada, words: ["plum"], limit: 10 }), []);
    assert.deepEqual(await store.turns.get(other?.id ?? ""), other);
    assert.equal(await store.purges.purgeSession(sessionId, []), true);
    // The ids are free again, so an import can restore the session.
    await store.sessions.insert(sessionOf({ id: sessionId }));
  });

  test("[S6] a fork keeps what it shares with a purged session, and continues", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store, 5);
    const [root, second, third] = line;
    assert.ok(root !== undefined && second !== undefined && third !== undefined);
    const { sessionId } = root;
    const [fork, earlier] = [await runSampleFork(store, third), await runSampleFork(store, second)];
    assert.deepEqual(await shared(store, sessionId), idsOf([root, second, third]));
    assert.deepEqual(await store.purges.sharedTurnIds(fork.sessionId), []);

    assert.equal(await store.purges.purgeSession(sessionId, await shared(store, sessionId)), true);
    await hasOnly(store, line, [root, second, third]);
    assert.deepEqual(await store.turns.list(sessionId, { limit: 10 }), [third, second, root]);
    const rest = await readSession(store, sessionId);
    assert.deepEqual([rest.headTurnId, rest.lastSequence], [null, 5]);
    assert.equal(rest.tokensTotal, 3 * root.run.usage.total);
    const next = await runSampleTurn(store, fork.sessionId);
    assert.equal(next.parentId, fork.id);

    assert.equal(await store.purges.purgeSession(fork.sessionId, []), true);
    assert.deepEqual(await shared(store, sessionId), idsOf([root, second]));
    assert.equal(await store.purges.purgeSession(earlier.sessionId, []), true);
    assert.equal(await store.purges.purgeSession(sessionId, []), true);
    await hasOnly(store, line, []);
    assert.equal(await store.sessions.get(sessionId), null);
  });

  test("[S6] a head that is kept stays the head; sequence numbers are not used again", async (context) => {
    const { store } = await open(context);
    const [root, second] = await startLine(store, 2);
    assert.ok(root !== undefined && second !== undefined);
    const { sessionId } = root;
    await runSampleFork(store, root);
    await store.sessions.moveHead({ sessionId, from: second.id, to: root.id, userId: ada, at: noon });
    assert.equal(await store.purges.purgeSession(sessionId, [root.id]), true);
    assert.equal((await readSession(store, sessionId)).headTurnId, root.id);
    const next = await runSampleTurn(store, sessionId);
    assert.deepEqual([next.parentId, next.sequence], [root.id, 3]);
  });

  test("[S6] other sessions need origins and parents of any turn, and their ancestors in this session only", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store, 6);
    const [root, second, third, fourth] = line;
    assert.ok(root !== undefined && second !== undefined && third !== undefined && fourth !== undefined);
    assert.deepEqual(await store.purges.sharedTurnIds(root.sessionId), []);
    await startSession(store, { originTurnId: second.id });
    assert.deepEqual(await shared(store, root.sessionId), idsOf([root, second]));
    const broken = await openSampleTurn(store, forkOf(third));
    assert.deepEqual(await shared(store, root.sessionId), idsOf([root, second, third]));
    await finishSampleTurn(store, failedSample(broken));
    const grandchild = await runSampleFork(store, await runSampleFork(store, fourth));
    assert.deepEqual(await shared(store, root.sessionId), idsOf([root, second, third, fourth]));
    assert.deepEqual(await shared(store, grandchild.parentId ?? ""), [grandchild.parentId]);
    assert.deepEqual(await store.purges.sharedTurnIds(newId()), []);
  });

  test("[S6] nothing is purged while a turn runs, also a subagent's, or if a shared turn is not kept", async (context) => {
    const { store } = await open(context);
    const line = await startLine(store, 3);
    const [root, second] = line;
    assert.ok(root !== undefined && second !== undefined);
    const { sessionId } = root;
    for (const kind of ["agent", "async_subagent"] as const) {
      const running = await openSampleTurn(store, openingOf(draftOf(await readSession(store, sessionId), { kind })));
      assert.equal(await store.purges.purgeSession(sessionId, []), false);
      assert.deepEqual(await store.turns.get(running.id), running);
      await finishSampleTurn(store, failedSample(running));
    }
    await runSampleFork(store, second);
    const before = await readSession(store, sessionId);
    for (const kept of [[], [second.id], [root.id]])
      assert.equal(await store.purges.purgeSession(sessionId, kept), false);
    assert.deepEqual(await readSession(store, sessionId), before);
    await hasOnly(store, line, line);
    assert.equal(await store.purges.purgeSession(sessionId, [root.id, second.id]), true);
  });

  test("[S6] when a purge and a fork happen at once, one is refused: no fork loses its history", async (context) => {
    const { store } = await open(context);
    await racePurgesAndForks([store, store]);
  });

  test("[S6] [B4] no fork loses its history to a purge, also across two processes", async (context) => {
    const stores = await openTwice(context, open);
    if (stores !== null) await racePurgesAndForks(stores);
  });

  test("[K4] the store returns which of many ids belong to a turn", async (context) => {
    const { store } = await open(context);
    const turns = [...(await startLine(store, 2)), ...(await startLine(store, 1))];
    const unknown = Array.from({ length: 2_500 }, newId);
    const asked = [...idsOf(turns), ...unknown, ...idsOf(turns), turns[0]?.sessionId ?? ""];
    assert.deepEqual((await store.purges.existingTurnIds(asked)).toSorted(), idsOf(turns));
    assert.deepEqual(await store.purges.existingTurnIds([]), []);
  });

  test("[K4] the store returns every blob that a turn and its steps name, each once", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const turn = await openSampleTurn(store, openingOf(draftOf(session)));
    const { opening } = turn.blobs;
    assert.deepEqual(await store.purges.blobKeysOf(turn.id), [opening]);
    const request = (blob: string) => ({ request: { blob, bytes: 1, sha256: "s" } });
    await store.turns.insertStep(stepOf(turn.id, 1, request(opening)), sampleRunnerId);
    const steps = [stepOf(turn.id, 2, request(`turns/${turn.id}/request-2.json`))];
    await finishSampleTurn(store, completedSample(turn), { steps });
    const names = ["opening.json", "run.json", "state.json", "request-2.json"];
    const keys = names.map((name) => `turns/${turn.id}/${name}`).toSorted();
    assert.deepEqual((await store.purges.blobKeysOf(turn.id)).toSorted(), keys);
    assert.deepEqual(await store.purges.blobKeysOf(newId()), []);
  });
}

async function racePurgesAndForks([one, other]: [Records, Records]): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    const line = await startLine(one, 2);
    const { sessionId } = line[0] ?? assert.fail("there is no turn");
    const opening = forkOf(line[1] ?? assert.fail("there is no second turn"));
    // The request that is sent first changes from round to round.
    const early = round % 2 === 0 ? one.purges.purgeSession(sessionId, []) : null;
    const opens = other.turns.open(opening);
    const [fork, isPurged] = await Promise.all([opens, early ?? one.purges.purgeSession(sessionId, [])]);
    assert.equal(fork.outcome, isPurged ? "missing" : "opened");
    await hasOnly(one, line, isPurged ? [] : line);
    assert.equal((await one.sessions.get(opening.newSession.id)) === null, isPurged);
  }
}
