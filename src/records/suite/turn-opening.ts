/** What a store must do when a turn is opened: open it, or refuse it and change nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { OpenResult, TurnOpening } from "../record-store.ts";
import {
  draftOf,
  finishSampleTurn,
  failedSample,
  noon,
  openSampleTurn,
  openingOf,
  readSession,
  requestOf,
  runSampleTurn,
  sessionOf,
  startSession,
  type OpenRecordsForTest,
  type RecordsWith,
  inviteUser,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns";
type Records = RecordsWith<Parts>;

const bob = "user-bob";

/** Opens all turns at once. Returns the turn that was opened, and how the others were refused. */
async function race(store: Records, openings: TurnOpening[]): Promise<{ winner: string; refusals: OpenResult[] }> {
  const results = await Promise.all(openings.map((opening) => store.turns.open(opening)));
  const winners = results.flatMap((result) => (result.outcome === "opened" ? [result.turn.id] : []));
  assert.equal(winners.length, 1, `${winners.length} turns were opened`);
  return { winner: winners[0] ?? "", refusals: results.filter((result) => result.outcome !== "opened") };
}

/** Runs the opening, and checks that neither the session nor its turns changed. */
async function refused(store: Records, opening: TurnOpening): Promise<OpenResult> {
  const { sessionId } = opening.turn;
  const look = async (): Promise<unknown> => [
    await store.sessions.get(sessionId),
    await store.turns.list(sessionId, { limit: 100 }),
    await store.turns.get(opening.turn.id),
    await store.sessions.isParticipant(sessionId, opening.turn.createdBy),
  ];
  const before = await look();
  const result = await store.turns.open(opening);
  assert.deepEqual(await look(), before);
  return result;
}

export function turnOpeningTests(open: OpenRecordsForTest<Parts>): void {
  test("[T1] sequence numbers count up by one, through failures and subagents", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const first = await openSampleTurn(store, openingOf(draftOf(session)));
    const subagent = await openSampleTurn(store, openingOf(draftOf(session, { kind: "async_subagent" })));
    await finishSampleTurn(store, failedSample(first));
    const third = await openSampleTurn(store, openingOf(draftOf(session)));
    assert.deepEqual([first.sequence, subagent.sequence, third.sequence], [1, 2, 3]);
    assert.equal((await readSession(store, session.id)).lastSequence, 3);
  });

  test("[S4] a new session is stored together with its first turn, and the turn is counted", async (context) => {
    const { store } = await open(context);
    const newSession = sessionOf();
    const turn = await openSampleTurn(
      store,
      openingOf(draftOf(newSession, { id: newSession.id, createdAt: noon + 7 }), { newSession }),
    );
    assert.equal(turn.sequence, 1);
    assert.deepEqual(await store.turns.get(newSession.id), turn);
    const counted = { lastSequence: 1, lastTurnStatus: "pending", lastTurnAt: noon + 7, activeAt: noon + 7 };
    assert.deepEqual(await store.sessions.get(newSession.id), { ...newSession, ...counted });
  });

  test("[S7] opening a turn is activity of the session; an older clock does not set the time back", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    await runSampleTurn(store, session.id, { createdAt: noon + 5_000 });
    const before = await readSession(store, session.id);
    await openSampleTurn(store, openingOf(draftOf(before, { createdAt: noon + 10 })));
    const counted = { lastSequence: 2, lastTurnStatus: "pending", lastTurnAt: noon + 10 };
    assert.deepEqual(await readSession(store, session.id), { ...before, ...counted });
  });

  test("[T5] when many turns open at once, one runs; the others get its id, and write nothing", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const openings = Array.from({ length: 20 }, () => openingOf(draftOf(session)));
    const { winner, refusals } = await race(store, openings);
    for (const refusal of refusals) assert.deepEqual(refusal, { outcome: "busy", runningTurnId: winner });
    const turns = await store.turns.list(session.id, { limit: 100 });
    assert.deepEqual(
      turns.map(({ id, sequence }) => ({ id, sequence })),
      [{ id: winner, sequence: 1 }],
    );
    assert.equal((await readSession(store, session.id)).lastSequence, 1);
  });

  test("[T5] a turn that opens while another runs is refused, and may open after it", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const running = await openSampleTurn(store, openingOf(draftOf(session)));
    await inviteUser(store, session.id, bob);
    const late = openingOf(draftOf(session, { createdBy: bob }));
    assert.deepEqual(await refused(store, late), { outcome: "busy", runningTurnId: running.id });
    await finishSampleTurn(store, failedSample(running));
    assert.equal((await openSampleTurn(store, late)).sequence, 2);
  });

  test("[T5] subagents run beside the turn and beside each other, and block no turn", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const running = await openSampleTurn(store, openingOf(draftOf(session)));
    const subagents = Array.from({ length: 5 }, () => draftOf(session, { kind: "async_subagent" }));
    const results = await Promise.all(subagents.map((draft) => store.turns.open(openingOf(draft))));
    const sequences = results.map((result) => (result.outcome === "opened" ? result.turn.sequence : result.outcome));
    assert.deepEqual(sequences.toSorted(), [2, 3, 4, 5, 6]);
    await finishSampleTurn(store, failedSample(running));
    await openSampleTurn(store, openingOf(draftOf(session)));
  });

  test("[S5] a turn is refused if the head is not the one that its caller saw", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const missed = newId();
    const early = openingOf(draftOf(session), { expectedHead: missed });
    assert.deepEqual(await refused(store, early), { outcome: "head_moved", headTurnId: null });
    const head = await runSampleTurn(store, session.id);
    for (const expectedHead of [null, missed]) {
      const result = await refused(store, openingOf(draftOf(session), { expectedHead }));
      assert.deepEqual(result, { outcome: "head_moved", headTurnId: head.id });
    }
    await openSampleTurn(store, openingOf(draftOf(session), { expectedHead: head.id }));
  });

  test("[S4] when two first turns are opened for a session and the first one has failed, the second is refused", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const first = openingOf(draftOf(session, { id: session.id }));
    await finishSampleTurn(store, failedSample(await openSampleTurn(store, first)));
    assert.deepEqual(await refused(store, first), { outcome: "head_moved", headTurnId: null });
    assert.equal((await openSampleTurn(store, openingOf(draftOf(session)))).sequence, 2);
  });

  test("[S5] a refused first turn leaves no session", async (context) => {
    const { store } = await open(context);
    const origin = await runSampleTurn(store, (await startSession(store)).id);
    const newSession = sessionOf({ headTurnId: origin.id, originTurnId: origin.id });
    const result = await store.turns.open(openingOf(draftOf(newSession), { newSession, expectedHead: null }));
    assert.deepEqual(result, { outcome: "head_moved", headTurnId: newSession.headTurnId });
    assert.equal(await store.sessions.get(newSession.id), null);
  });

  test("[S6] an archived or deleted session opens no turns", async (context) => {
    const { store } = await open(context);
    const archived = await startSession(store, { archivedAt: noon });
    const deleted = await startSession(store, { deletedAt: noon });
    assert.deepEqual(await refused(store, openingOf(draftOf(archived))), { outcome: "archived" });
    assert.deepEqual(await refused(store, openingOf(draftOf(deleted))), { outcome: "missing" });
    assert.deepEqual(await refused(store, openingOf(draftOf(sessionOf()))), { outcome: "missing" });
  });

  idempotencyTests(open);
}

function idempotencyTests(open: OpenRecordsForTest<Parts>): void {
  test("[T13] a key that was used returns the earlier request, while its turn runs and ever after", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const draft = draftOf(session);
    const earlier = requestOf(draft);
    assert.equal(await store.turns.findIdempotent(earlier.userId, earlier.key), null);
    const turn = await openSampleTurn(store, openingOf(draft, { idempotency: earlier }));
    assert.deepEqual(await store.turns.findIdempotent(earlier.userId, earlier.key), earlier);

    const again = draftOf(session);
    const repeated = openingOf(again, { idempotency: requestOf(again, { requestHash: "other" }) });
    assert.deepEqual(await refused(store, repeated), { outcome: "idempotent", earlier });
    await finishSampleTurn(store, failedSample(turn));
    assert.deepEqual(await refused(store, repeated), { outcome: "idempotent", earlier });
    const elsewhere = { ...repeated, turn: draftOf(await startSession(store, { archivedAt: noon })) };
    assert.deepEqual(await refused(store, elsewhere), { outcome: "idempotent", earlier });
  });

  test("[T13] [V4] the key of a request that joined a turn is kept once, also after the end of the turn", async (context) => {
    const { store } = await open(context);
    const draft = draftOf(await startSession(store));
    const turn = await openSampleTurn(store, openingOf(draft));
    await finishSampleTurn(store, failedSample(turn));
    const first = requestOf(draft);
    for (const request of [first, { ...first, requestHash: "other" }]) {
      await store.turns.keepIdempotent(request);
      assert.deepEqual(await store.turns.findIdempotent(first.userId, first.key), first);
    }
  });

  test("[T13] a key belongs to one caller, and may be any text", async (context) => {
    const { store } = await open(context);
    const turnIds: string[] = [];
    for (const [userId, key] of [
      ["u", "k"],
      ["uk", ""],
      ["u", "K"],
      ["v", "k"],
      ["u", `it's "{}" 🙂`],
    ] as const) {
      const session = await startSession(store);
      const draft = draftOf(session);
      const turn = await openSampleTurn(store, openingOf(draft, { idempotency: requestOf(draft, { userId, key }) }));
      assert.equal((await store.turns.findIdempotent(userId, key))?.turnId, turn.id);
      turnIds.push(turn.id);
    }
    assert.equal(new Set(turnIds).size, 5);
  });

  test("[T13] a refused opening does not use its key", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const running = await openSampleTurn(store, openingOf(draftOf(session)));
    const draft = draftOf(session);
    const opening = openingOf(draft, { idempotency: requestOf(draft) });
    assert.equal((await store.turns.open(opening)).outcome, "busy");
    assert.equal(await store.turns.findIdempotent(draft.createdBy, "key-1"), null);
    await finishSampleTurn(store, failedSample(running));
    await openSampleTurn(store, opening);
  });

  test("[T13] when many open with one key at once, one opens; the others get its turn and leave no session", async (context) => {
    const { store } = await open(context);
    const openings = Array.from({ length: 20 }, () => {
      const newSession = sessionOf();
      const turn = draftOf(newSession, { id: newSession.id });
      return openingOf(turn, { newSession, idempotency: requestOf(turn) });
    });
    const { winner, refusals } = await race(store, openings);
    const earlier = await store.turns.findIdempotent("user-ada", "key-1");
    assert.equal(earlier?.turnId, winner);
    for (const refusal of refusals) assert.deepEqual(refusal, { outcome: "idempotent", earlier });
    for (const { turn } of openings) {
      assert.equal((await store.sessions.get(turn.sessionId)) === null, turn.id !== winner);
      assert.equal((await store.turns.get(turn.id)) === null, turn.id !== winner);
    }
  });

  test("[T5] [T13] when requests reach one session at once, a repeat of the running turn is distinguished from other requests", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const openings = Array.from({ length: 20 }, (_, index) => {
      const turn = draftOf(session);
      return openingOf(turn, { idempotency: requestOf(turn, { key: `key-${index % 2}` }) });
    });
    const { winner, refusals } = await race(store, openings);
    const twins = refusals.filter((refusal) => refusal.outcome === "idempotent");
    const strangers = refusals.filter((refusal) => refusal.outcome === "busy");
    assert.deepEqual([twins.length, strangers.length], [9, 10]);
    for (const twin of twins) assert.equal(twin.earlier.turnId, winner);
    for (const stranger of strangers) assert.equal(stranger.runningTurnId, winner);
  });
}
