/** What a store must do with subagents, and with the mailbox that receives their results (A1, A2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { MailboxMessage } from "../../domain/mailbox.ts";
import type { Session } from "../../domain/session.ts";
import type { SubagentRef } from "../../domain/subagent.ts";
import { messageOf, type FinishedTurn, type PendingTurn, type TurnDraft } from "../../domain/turn.ts";
import type { TurnOpening } from "../record-store.ts";
import {
  awkwardText,
  completedSample,
  draftOf,
  failedSample,
  finishSampleTurn,
  turnFinishOf,
  noon,
  openSampleTurn,
  sealedFailureSample,
  openingOf,
  openTwice,
  parkedSample,
  plainManifest,
  readSession,
  runSampleTurn,
  sessionOf,
  startSession,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "subagents" | "imports" | "purges";
type Records = RecordsWith<Parts>;

const bounds = { runningMax: 3, turnsMax: 5 };

/** Returns an opening of the subagent's next turn; of a new subagent if no last turn is given. */
function subagentOpening(session: Session, over: Partial<TurnDraft> = {}, last?: FinishedTurn): TurnOpening {
  const id = newId();
  const fresh: SubagentRef = { id, name: awkwardText, owner: null, level: 1, tools: ["read"] };
  const place = { id, parentId: last?.id ?? null, depth: (last?.depth ?? 0) + 1, subagent: last?.subagent ?? fresh };
  const turn = draftOf(session, { kind: "async_subagent", spawnedBy: session.id, ...place, ...over });
  const subagent = { ...bounds, seenTurnId: last?.id ?? null };
  // The expected head is ignored.
  return openingOf(turn, { expectedHead: newId(), subagent });
}

/** Ends a subagent's turn as the engine does: with its message. */
async function end(store: Records, turn: FinishedTurn): Promise<void> {
  await finishSampleTurn(store, turn, { head: null, message: messageOf(turn) ?? assert.fail("it is no subagent's") });
}

/** Creates a session with a head and this many messages in its mailbox. */
async function sessionWithMail(store: Records, count: number): Promise<{ session: Session; mail: string[] }> {
  const { id } = await startSession(store);
  await runSampleTurn(store, id);
  const session = await readSession(store, id);
  const mail: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const turn = await openSampleTurn(store, subagentOpening(session));
    await end(store, index % 2 === 0 ? completedSample(turn) : failedSample(turn));
    mail.push(turn.id);
  }
  return { session, mail };
}

function taking(session: Session, mail: readonly string[]): TurnOpening {
  const mailbox = mail.map((turnId) => ({
    turnId,
    subagentId: turnId,
    kind: "subagent_result" as const,
    contentHash: "h",
  }));
  return openingOf(draftOf(session, { manifest: { ...plainManifest, mailbox } }), { mail });
}

async function waiting(store: Records, { id }: Session): Promise<string[]> {
  const messages = await store.subagents.listMail(id, { waiting: true, limit: 100 });
  return messages.map(({ turnId }) => turnId);
}

export function subagentTests(open: OpenRecordsForTest<Parts>): void {
  subagentTurnTests(open);
  deliveryTests(open);
}

function subagentTurnTests(open: OpenRecordsForTest<Parts>): void {
  test("[A1] a subagent's turns are stored with their subagent, wherever the head is", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const first = completedSample(await openSampleTurn(store, subagentOpening(session)));
    await end(store, first);
    const second = await openSampleTurn(store, subagentOpening(session, {}, first));
    const other = await openSampleTurn(store, subagentOpening(session));
    const agent = await openSampleTurn(store, openingOf(draftOf(session)));
    const page = { limit: 10 };
    assert.deepEqual(await store.subagents.listTurns(session.id, page), [other, second, first]);
    assert.deepEqual(await store.subagents.listTurns(session.id, { ...page, subagentId: first.id }), [second, first]);
    assert.deepEqual(await store.subagents.listTurns(session.id, { limit: 1 }), [other]);
    assert.deepEqual(await store.subagents.listTurns(newId(), page), []);
    assert.deepEqual(await store.turns.list(session.id, { ...page, kind: "agent" }), [agent]);
  });

  test("[A1] a subagent continues from its newest turn, but not while that one runs", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const unseen = subagentOpening(session);
    const first = completedSample(await openSampleTurn(store, unseen));
    const next = subagentOpening(session, {}, first);
    assert.deepEqual(await store.turns.open(next), { outcome: "subagent_moved" });
    await end(store, first);
    const both = await Promise.all([store.turns.open(next), store.turns.open(subagentOpening(session, {}, first))]);
    assert.deepEqual(both.map(({ outcome }) => outcome).toSorted(), ["opened", "subagent_moved"]);
    const twin = { ...unseen, turn: { ...unseen.turn, id: newId() } };
    assert.deepEqual(await store.turns.open(twin), { outcome: "subagent_moved" });
  });

  test("[A1] when many subagents start at once, the limits on running ones and on all of a session hold", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const results = await Promise.all(Array.from({ length: 8 }, () => store.turns.open(subagentOpening(session))));
    const running = results.flatMap((result) => (result.outcome === "opened" ? [result.turn] : []));
    assert.equal(running.length, bounds.runningMax);
    for (const result of results.filter(({ outcome }) => outcome !== "opened")) {
      assert.deepEqual(result, { outcome: "subagents_limited", bound: "runningMax" });
    }
    for (const turn of running) await end(store, completedSample(turn));
    for (let count = running.length; count < bounds.turnsMax; count += 1) {
      await end(store, failedSample(await openSampleTurn(store, subagentOpening(session))));
    }
    const late = await store.turns.open(subagentOpening(session));
    assert.deepEqual(late, { outcome: "subagents_limited", bound: "turnsMax" });
    await openSampleTurn(store, subagentOpening(await startSession(store)));
  });

  test("[A1] [S6] an archived session starts no subagents, and a purged one has no mailbox", async (context) => {
    const { store } = await open(context);
    const { session } = await sessionWithMail(store, 2);
    await store.sessions.update(session.id, { archivedAt: noon }, noon);
    assert.deepEqual(await store.turns.open(subagentOpening(session)), { outcome: "archived" });
    assert.equal(await store.purges.purgeSession(session.id, []), true);
    assert.deepEqual(await store.subagents.listMail(session.id, { limit: 10 }), []);
  });
}

function deliveryTests(open: OpenRecordsForTest<Parts>): void {
  test("[A2] the end of a subagent's turn and its message are one write: in order, once, and none for a refused end", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const turns: PendingTurn[] = [];
    for (let count = 0; count < 3; count += 1) turns.push(await openSampleTurn(store, subagentOpening(session)));
    const ends = [
      completedSample(turns[2] as PendingTurn),
      failedSample(turns[0] as PendingTurn),
      completedSample(turns[1] as PendingTurn),
    ];
    for (const turn of ends) await end(store, turn);
    const expected = ends.map((turn, index): MailboxMessage => ({
      ...(messageOf(turn) ?? assert.fail()),
      number: index + 1,
      takenBy: null,
      deliveredAt: null,
    }));
    assert.deepEqual(await store.subagents.listMail(session.id, { limit: 10 }), expected);
    assert.deepEqual(await store.subagents.listMail(session.id, { after: 1, limit: 1 }), expected.slice(1, 2));
    for (const turn of ends) {
      const again = turnFinishOf(turn, { head: null, message: messageOf(turn) ?? assert.fail() });
      assert.equal((await store.turns.finish(again)).outcome, "refused");
    }
    assert.equal((await store.subagents.listMail(session.id, { limit: 10 })).length, 3);
  });

  test("[A2] a turn takes messages, a good end delivers them, and a bad end returns them to their positions", async (context) => {
    const { store } = await open(context);
    const { session, mail } = await sessionWithMail(store, 3);
    const bad = await openSampleTurn(store, taking(session, mail.slice(0, 2)));
    assert.deepEqual(await waiting(store, session), mail.slice(2));
    await finishSampleTurn(store, failedSample(bad));
    assert.deepEqual(await waiting(store, session), mail);

    const good = completedSample(await openSampleTurn(store, taking(session, mail.slice(0, 2))));
    await finishSampleTurn(store, good);
    const parting = await readSession(store, session.id);
    await finishSampleTurn(store, parkedSample(await openSampleTurn(store, taking(parting, mail.slice(2)))));
    const messages = await store.subagents.listMail(session.id, { limit: 10 });
    assert.deepEqual(
      messages.map(({ takenBy, deliveredAt }) => [takenBy === good.id, deliveredAt === good.statusAt]),
      [
        [true, true],
        [true, true],
        [false, true],
      ],
    );
    const over = await readSession(store, session.id);
    for (const taken of [mail, mail.slice(1, 2), [newId()]]) {
      assert.deepEqual(await store.turns.open(taking(over, taken)), { outcome: "mail_taken" });
    }
    assert.deepEqual(await store.turns.open(taking(await startSession(store), mail)), { outcome: "mail_taken" });
    assert.equal(
      (await readSession(store, session.id)).lastSequence,
      over.lastSequence,
      "a refused opening leaves nothing",
    );
  });

  test("[A2] [T12] a failed turn that has a state delivers the messages that it took", async (context) => {
    const { store } = await open(context);
    const { session, mail } = await sessionWithMail(store, 1);
    await finishSampleTurn(store, sealedFailureSample(await openSampleTurn(store, taking(session, mail))));
    assert.deepEqual(await waiting(store, session), []);
  });

  test("[A2] when many turns take from a mailbox, each message goes to one of them, once, also across two processes", async (context) => {
    const stores = await openTwice(context, open);
    if (stores === null) return;
    const [here, there] = stores;
    const { session, mail } = await sessionWithMail(here, 5);
    const delivered: string[] = [];
    for (let round = 1; delivered.length < mail.length; round += 1) {
      assert.ok(round <= mail.length + 1, "every round delivers one, but the one that fails");
      const want = mail.slice(delivered.length, delivered.length + 1);
      const now = await readSession(here, session.id);
      const both = [here, there, here, there, here, there];
      const results = await Promise.all(both.map((store) => store.turns.open(taking(now, want))));
      const turns = results.flatMap((result) => (result.outcome === "opened" ? [result.turn] : []));
      assert.equal(turns.length, 1);
      // If a process dies between taking and the end, the process that recovers the turn returns its messages.
      const lost = round === 2;
      for (const turn of turns) await finishSampleTurn(there, lost ? failedSample(turn) : completedSample(turn));
      if (!lost) delivered.push(...want);
    }
    assert.deepEqual(await waiting(there, session), []);
  });

  test("[A2] imported messages follow the existing ones, and of an existing message only its delivery is imported", async (context) => {
    const { store } = await open(context);
    const { session, mail } = await sessionWithMail(store, 2);
    const [first, second] = await store.subagents.listMail(session.id, { limit: 2 });
    assert.ok(first !== undefined && second !== undefined);
    const taker = session.headTurnId ?? assert.fail("there is no head");
    const known = { ...first, takenBy: taker, deliveredAt: noon };
    const elsewhere = sessionOf();
    const noTurns = { async *[Symbol.asyncIterator]() {} };
    const plan = { sessions: [elsewhere], growths: [], parents: [], turns: noTurns };
    assert.deepEqual(await store.imports.insert({ ...plan, mail: [known, second] }), { outcome: "imported" });
    assert.deepEqual(await store.subagents.listMail(session.id, { limit: 10 }), [known, second]);
    assert.deepEqual(await waiting(store, session), mail.slice(1));
    const back = { ...first, takenBy: null, deliveredAt: null };
    await store.imports.insert({ ...plan, sessions: [sessionOf()], mail: [back] });
    assert.deepEqual(await store.subagents.listMail(session.id, { limit: 1 }), [known]);
  });
}
