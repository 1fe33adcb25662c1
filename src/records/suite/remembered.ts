/** What a store must do that returns the session of a finished turn: later it refuses a turn that rests on an older state of it. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { CompletedTurn } from "../../domain/turn.ts";
import type { RecordStore } from "../record-store.ts";
import type { RememberedState } from "../turns.ts";
import {
  ada,
  completedSample,
  draftOf,
  noon,
  openSampleTurn,
  openingOf,
  readSession,
  sampleOrgId,
  startSession,
  turnFinishOf,
  type OpenRecordsForTest,
} from "./samples.ts";

interface Remembering {
  store: RecordStore;
  turn: CompletedTurn;
  state: RememberedState;
}

/** Runs a turn, and returns what its end leaves in memory. Null: the store gives nothing to remember. */
async function remembering(context: TestContext, open: OpenRecordsForTest): Promise<Remembering | null> {
  const { store } = await open(context);
  const session = await startSession(store);
  const turn = completedSample(await openSampleTurn(store, openingOf(draftOf(session))));
  const result = await store.turns.finish(turnFinishOf(turn, { returnsSession: true }));
  if (result.outcome !== "finished" || result.after === undefined) return null;
  const { session: after, version } = result.after;
  assert.deepEqual(after, await readSession(store, session.id));
  return { store, turn, state: { sessionVersion: version, orgId: sampleOrgId, contexts: [] } };
}

/** The changes of other processes that a turn rests on. */
const changes: Record<string, (store: RecordStore, turn: CompletedTurn) => Promise<unknown>> = {
  "a name": (store, { sessionId }) => store.sessions.update(sessionId, { name: "Other" }, noon),
  "a setting": (store, { sessionId }) => store.sessions.update(sessionId, { model: "offline/other" }, null),
  "the head, moved and moved back": async (store, { sessionId, id }) => {
    const move = { sessionId, from: id, to: null, userId: ada, at: noon };
    await store.sessions.moveHead(move);
    await store.sessions.moveHead({ ...move, from: null, to: id });
  },
  "a turn beside the head": async (store, { sessionId, id }) => {
    const draft = draftOf(await readSession(store, sessionId), { kind: "async_subagent" });
    const other = await openSampleTurn(store, openingOf(draft, { expectedHead: id }));
    await store.turns.finish(turnFinishOf(completedSample(other)));
  },
  "a context": (store) => putContext(store, 1),
};

async function putContext(store: RecordStore, version: number): Promise<void> {
  const content = { id: "review", name: "Review", provider: "offline", index: "local" };
  const put = { orgId: sampleOrgId, kind: "agent", id: "review", version, content } as const;
  const { outcome } = await store.contexts.putVersion({ ...put, createdAt: noon, createdBy: ada });
  assert.equal(outcome, "stored");
}

export function rememberedTests(open: OpenRecordsForTest): void {
  test("[S5] [G1] a turn opens on what its process remembers of the session, if that is still so", async (context) => {
    const known = await remembering(context, open);
    if (known === null) return;
    const { store, turn, state } = known;
    await putContext(store, 1);
    await putContext(store, 2);
    await store.contexts.putVersion({
      ...{ orgId: "org-2", kind: "agent", id: "review", version: 1 },
      ...{ createdAt: noon, createdBy: ada, content: null },
    });
    const contexts = await store.contexts.listNewest(sampleOrgId);
    const draft = draftOf(await readSession(store, turn.sessionId), { id: newId() });
    const next = openingOf(draft, { remembered: { ...state, contexts } });
    assert.equal((await store.turns.open(next)).outcome, "opened");
  });

  for (const [what, change] of Object.entries(changes)) {
    test(`[S5] [G1] a turn that rests on an older state of its session is refused, and stores nothing: ${what}`, async (context) => {
      const known = await remembering(context, open);
      if (known === null) return;
      const { store, turn, state } = known;
      await change(store, turn);
      const before = await readSession(store, turn.sessionId);
      const opening = openingOf(draftOf(before, { id: newId() }), { remembered: state });
      assert.deepEqual(await store.turns.open(opening), { outcome: "head_moved", headTurnId: turn.id });
      assert.deepEqual(await readSession(store, turn.sessionId), before);
      assert.equal(await store.turns.get(opening.turn.id), null);
      const { remembered: _remembered, ...read } = opening;
      assert.equal((await store.turns.open(read)).outcome, "opened");
    });
  }
}
