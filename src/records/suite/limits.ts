/** What a store must do about limits: count across all processes, and open no turn between the count and the write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../../domain/ids.ts";
import type { OpenResult, TurnOpening } from "../record-store.ts";
import {
  completedSample,
  draftOf,
  finishSampleTurn,
  openingOf,
  readSession,
  runSampleTurn,
  sampleOrgId,
  sessionOf,
  startSession,
  type OpenRecordsForTest,
  type RecordsWith,
} from "./samples.ts";

/** The parts that these tests need. */
type Parts = "sessions" | "turns" | "limits";
type Records = RecordsWith<Parts>;

const ada = "user-ada";
const bob = "user-bob";

export function limitTests(open: OpenRecordsForTest<Parts>): void {
  test("[H5] when many turns open at once, through every store on the records, only as many open as the limit allows", async (context) => {
    const { store, reopen } = await open(context);
    const other = reopen === null ? store : await reopen();
    if (reopen !== null) context.after(() => other.close());
    const opening = (user: string, limits: { perUser?: number; perOrg?: number }): TurnOpening => {
      const session = sessionOf({ userId: user });
      const runLimits = { orgId: sampleOrgId, perUser: limits.perUser ?? null, perOrg: limits.perOrg ?? null };
      return { ...openingOf(draftOf(session, { createdBy: user }), { newSession: session }), runLimits };
    };
    const openAll = (openings: TurnOpening[]): Promise<OpenResult[]> =>
      Promise.all(openings.map((one, n) => (n % 2 === 0 ? store : other).turns.open(one)));

    const tried = Array.from({ length: 8 }, () => opening(ada, { perUser: 3 }));
    const results = await openAll(tried);
    const opened = results.flatMap((result) => (result.outcome === "opened" ? [result.turn] : []));
    assert.equal(opened.length, 3);
    for (const [n, result] of results.entries()) {
      if (result.outcome === "opened") continue;
      assert.deepEqual(result, { outcome: "limited", of: "user", running: 3, limit: 3 });
      assert.equal(await store.sessions.get(tried[n]?.turn.sessionId ?? ""), null);
    }
    assert.deepEqual(await other.limits.countRuns({ userId: ada, orgId: sampleOrgId }), { user: 3, org: 3 });

    const ofOrg = await openAll(Array.from({ length: 6 }, () => opening(bob, { perUser: 4, perOrg: 5 })));
    assert.equal(ofOrg.filter(({ outcome }) => outcome === "opened").length, 2);
    const refusal = ofOrg.find(({ outcome }) => outcome !== "opened");
    assert.deepEqual(refusal, { outcome: "limited", of: "org", running: 5, limit: 5 });
    assert.deepEqual(await store.limits.countRuns({ userId: bob, orgId: sampleOrgId }), { user: 2, org: 5 });
    assert.deepEqual(await store.limits.countRuns({ userId: newId(), orgId: newId() }), { user: 0, org: 0 });

    const [first] = opened;
    assert.ok(first !== undefined);
    await finishSampleTurn(store, completedSample(first));
    const again = await openAll([opening(ada, { perUser: 3, perOrg: 5 }), opening(ada, { perUser: 3, perOrg: 5 })]);
    assert.deepEqual(again.map(({ outcome }) => outcome).toSorted(), ["limited", "opened"]);
  });

  test("[H5] at the limit a fork is refused, and a subagent's turn, and nothing of them is stored", async (context) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const origin = await runSampleTurn(store, session.id);
    const runLimits = { orgId: sampleOrgId, perUser: 1, perOrg: null };
    const running = openingOf(draftOf(await readSession(store, session.id)), { runLimits });
    assert.equal((await store.turns.open(running)).outcome, "opened");
    const newSession = sessionOf({ originTurnId: origin.id, headTurnId: origin.id });
    const helper = { id: newId(), name: "helper", owner: null, level: 1, tools: [] };
    const bounds = { turnsMax: 9, runningMax: 9, seenTurnId: null };
    const subagent = draftOf(session, { kind: "async_subagent", subagent: helper });
    for (const opening of [
      openingOf(draftOf(newSession), { newSession, runLimits }),
      openingOf(subagent, { subagent: bounds, runLimits }),
    ]) {
      const refusal = await store.turns.open(opening);
      assert.deepEqual(refusal, { outcome: "limited", of: "user", running: 1, limit: 1 });
      assert.equal(await store.turns.get(opening.turn.id), null);
    }
    assert.equal(await store.sessions.get(newSession.id), null);
  });

  test("[H5] [T13] above the limit a repeated request is still recognised", async (context) => {
    const { store } = await open(context);
    const session = sessionOf();
    const runLimits = { orgId: sampleOrgId, perUser: 1, perOrg: null };
    const draft = draftOf(session);
    const idempotency = { userId: ada, key: "k", requestHash: "h", turnId: draft.id };
    const opening = { ...openingOf(draft, { newSession: session, idempotency }), runLimits };
    assert.equal((await store.turns.open(opening)).outcome, "opened");
    const other = sessionOf();
    const twin = { ...openingOf(draftOf(other), { newSession: other }), runLimits, idempotency };
    assert.deepEqual(await store.turns.open(twin), { outcome: "idempotent", earlier: idempotency });
  });

  test("[H5] the counter of a window adds up over all stores, and scopes are independent", async (context) => {
    const { store, reopen } = await open(context);
    const other = reopen === null ? store : await reopen();
    if (reopen !== null) context.after(() => other.close());
    // The window is so long that none ends during the test, whenever it runs.
    const windowMs = 1_000 * 365 * 24 * 3_600_000;
    const take = (from: Records, scope: string, amount: number) => from.limits.takeRate({ scope, amount, windowMs });
    await Promise.all(Array.from({ length: 10 }, (_, n) => take(n % 2 === 0 ? store : other, "a", 2)));
    const taken = await take(store, "a", 1);
    assert.deepEqual([taken.used, taken.previous], [21, 0]);
    assert.ok(taken.elapsedMs > 0 && taken.elapsedMs < windowMs);
    assert.equal((await take(other, "b", 1)).used, 1);
  });
}
