/** What a store must do about summaries of sessions (M5). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { failure } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import type { CompletedSummary, EndedSummary, Summary } from "../../domain/summary.ts";
import type { Turn } from "../../domain/turn.ts";
import { noUsage } from "../../domain/usage.ts";
import type { Runner } from "../record-store.ts";
import {
  ada,
  noon,
  readSession,
  runSampleTurn,
  sampleOrgId,
  startSession,
  type OpenRecordsForTest,
} from "./samples.ts";

type Parts = "summaries" | "sessions" | "turns" | "runners" | "purges" | "search" | "imports";

const leaseMs = 60_000;
const usage = { ...noUsage, input: 30, output: 5, total: 35, costUsd: 0.5 };

function begun({ id: throughTurnId, sessionId }: Turn, over: Partial<Summary> = {}): Summary {
  return {
    id: newId(),
    orgId: sampleOrgId,
    sessionId,
    userId: ada,
    cause: "request",
    fromTurnId: throughTurnId,
    throughTurnId,
    throughDepth: 1,
    basedOn: null,
    provider: "offline",
    model: "offline-1",
    createdAt: noon,
    calls: [],
    end: null,
    ...over,
  };
}

function completed(summary: Summary, text = "The walrus sings."): CompletedSummary {
  const sources = [{ turnId: summary.throughTurnId, quote: "walrus" }];
  const lines = [{ part: "goal" as const, text, sources }];
  return { ...summary, end: { at: noon + 9, usage, rejected: [], status: "completed", lines } };
}

function failed(summary: Summary): EndedSummary {
  const reason = failure("interrupted", "it was stopped");
  return { ...summary, end: { at: noon + 9, usage, rejected: [], status: "failed", failure: reason } };
}

function runnerOf(id: string): Runner {
  return { id, host: "here", bootId: "boot", pid: 1, processStart: "", startedAt: noon };
}

export function summaryTests(open: OpenRecordsForTest<Parts>): void {
  const begin = async (context: TestContext) => {
    const { store } = await open(context);
    const session = await startSession(store);
    const turn = await runSampleTurn(store, session.id);
    const runner = runnerOf(newId());
    await store.runners.insert(runner);
    return { store, session, turn, lease: { runnerId: runner.id, leaseMs } };
  };

  test("[M5] an imported summary is stored once, is found, and adds what it used to its session", async (context) => {
    const { store, session, turn } = await begin(context);
    const before = await readSession(store, session.id);
    const [whole, stopped] = [completed(begun(turn)), failed(begun(turn, { createdAt: noon - 5 }))];
    const none = { sessions: [], growths: [], parents: [turn.id], turns: (async function* () {})() };
    const attempt = (summaries: EndedSummary[]) => store.imports.insert({ ...none, summaries });
    assert.deepEqual(await attempt([whole, stopped]), { outcome: "imported" });
    assert.deepEqual(await attempt([{ ...whole, model: "another" }]), { outcome: "imported" });
    assert.deepEqual(await store.summaries.list(session.id, { limit: 9 }), [whole, stopped]);
    const after = await readSession(store, session.id);
    assert.deepEqual([after.tokensTotal, after.costUsd], [before.tokensTotal + 70, before.costUsd + 1]);
    assert.deepEqual(await attempt([{ ...completed(begun(turn)), sessionId: newId() }]), { outcome: "changed" });
    const other = begun(turn);
    const runner = runnerOf(newId());
    await store.runners.insert(runner);
    assert.deepEqual(await store.summaries.begin(other, { runnerId: runner.id, leaseMs }), { outcome: "begun" });
    assert.equal(await store.summaries.requestStop(whole.id), false);
  });

  test("[M5] a summary is made once at a time, ends once, and adds what it used to its session", async (context) => {
    const { store, session, turn, lease } = await begin(context);
    const first = begun(turn);
    assert.deepEqual(await store.summaries.begin(first, lease), { outcome: "begun" });
    assert.deepEqual(await store.summaries.begin(begun(turn), lease), { outcome: "running", id: first.id });
    const call = {
      index: 1,
      provider: "p",
      model: "m",
      startedAt: noon,
      request: { blob: "b", bytes: 1, sha256: "s" },
    };
    const called: Summary = { ...first, calls: [{ ...call, end: null }] };
    assert.equal(await store.summaries.update(called), true);
    assert.deepEqual(await store.summaries.get(first.id), called);
    const before = await readSession(store, session.id);
    const end = completed(called);
    assert.equal(await store.summaries.update(end), true);
    assert.equal(await store.summaries.update(failed(called)), false);
    assert.deepEqual(await store.summaries.get(first.id), end);
    const after = await readSession(store, session.id);
    assert.deepEqual(after, { ...before, tokensTotal: before.tokensTotal + 35, costUsd: before.costUsd + 0.5 });
    const second = begun(turn, { createdAt: noon + 1 });
    assert.deepEqual(await store.summaries.begin(second, lease), { outcome: "begun" });
    assert.equal(await store.summaries.update(failed(second)), true);
    assert.deepEqual(await store.summaries.list(session.id, { limit: 9 }), [failed(second), end]);
    assert.deepEqual(await store.summaries.list(session.id, { limit: 9, status: "completed" }), [end]);
    assert.deepEqual(await store.summaries.list(session.id, { limit: 1 }), [failed(second)]);
    assert.equal(await store.summaries.get(newId()), null);
    const period = { orgId: sampleOrgId, from: noon, until: noon + 1 };
    assert.deepEqual(await store.summaries.begunIn(period), [end]);
    assert.deepEqual(await store.summaries.begunIn({ ...period, orgId: newId() }), []);
  });

  test("[M5] of a session or a turn that is gone there is no summary", async (context) => {
    const { store, turn, lease } = await begin(context);
    const outcomes = [begun({ ...turn, sessionId: newId() }), begun({ ...turn, id: newId() })].map((summary) =>
      store.summaries.begin(summary, lease),
    );
    assert.deepEqual(await Promise.all(outcomes), [{ outcome: "missing" }, { outcome: "missing" }]);
  });

  test("[M5] of several that begin at the same time one does", async (context) => {
    const { store, turn, lease } = await begin(context);
    const all = Array.from({ length: 4 }, () => begun(turn));
    const outcomes = await Promise.all(all.map((one) => store.summaries.begin(one, lease)));
    const begunOnes = all.filter((_, at) => outcomes[at]?.outcome === "begun");
    assert.equal(begunOnes.length, 1);
    for (const one of outcomes) if (one.outcome === "running") assert.equal(one.id, begunOnes[0]?.id);
  });

  test("[M5] the newest completed summary of each session is found", async (context) => {
    const { store, session, turn, lease } = await begin(context);
    const other = await startSession(store);
    const made = [0, 2, 1].map((ms) => completed(begun(turn, { createdAt: noon + ms })));
    for (const one of made) {
      await store.summaries.begin({ ...one, end: null }, lease);
      await store.summaries.update(one);
    }
    await store.summaries.begin(begun(turn, { createdAt: noon + 9 }), lease);
    assert.deepEqual(await store.summaries.newestOf([session.id, other.id, session.id]), [made[1]]);
    assert.deepEqual(await store.summaries.newestOf([]), []);
  });

  test("[M5] [R1] a summary is stopped by request, and taken over once when its runner is gone or its lease expired", async (context) => {
    const { store, turn, lease } = await begin(context);
    const taker = runnerOf(newId());
    await store.runners.insert(taker);
    const taking = { runnerId: taker.id, leaseMs };
    const one = begun(turn);
    await store.summaries.begin(one, lease);
    assert.deepEqual(await store.summaries.renew([one.id], lease), [{ id: one.id, isStopping: false }]);
    assert.deepEqual(await store.summaries.renew([one.id], taking), []);
    assert.equal(await store.summaries.requestStop(one.id), true);
    assert.deepEqual(await store.summaries.renew([one.id, newId()], lease), [{ id: one.id, isStopping: true }]);
    assert.deepEqual(await store.summaries.takeLost(taking), []);
    await store.runners.delete(lease.runnerId);
    assert.deepEqual(await store.summaries.takeLost(taking), [one]);
    assert.deepEqual(await store.summaries.takeLost(taking), []);
    assert.deepEqual(await store.summaries.renew([one.id], { ...taking, leaseMs: -1 }), [
      { id: one.id, isStopping: true },
    ]);
    assert.deepEqual(await store.summaries.takeLost({ ...taking, sparedRunnerIds: [taker.id] }), []);
    assert.deepEqual(await store.summaries.takeLost(taking), [one]);
    assert.equal(await store.summaries.update(failed(one)), true);
    assert.equal(await store.summaries.requestStop(one.id), false);
  });

  test("[M5] [S8] search finds the words of the newest summary", async (context) => {
    const { store, session, turn, lease } = await begin(context);
    for (const [ms, text] of ["An old zebra.", "ÜBER the Walrus sings."].entries()) {
      const one = begun(turn, { createdAt: noon + ms });
      await store.summaries.begin(one, lease);
      await store.summaries.update(completed(one, text));
    }
    const find = (words: string[]) =>
      store.search.find({ orgId: sampleOrgId, userId: session.userId, words, limit: 9 });
    const matches = (await find(["walrus", "über"])).flatMap((hit) => hit.matches);
    assert.deepEqual(matches, [{ where: "summary", turnId: turn.id, excerpt: "ÜBER the Walrus sings." }]);
    assert.deepEqual(await find(["zebra"]), []);
  });

  test("[M5] a purge deletes the summaries, and the turn names their blobs until then", async (context) => {
    const { store, session, turn, lease } = await begin(context);
    const request = { blob: "turns/x/summary-1", bytes: 1, sha256: "s" };
    const outcome = { status: "completed", stopReason: "stop" } as const;
    const end = { endedAt: noon, outcome, usage, response: "turns/x/summary-1-response" };
    const call = { index: 1, provider: "p", model: "m", startedAt: noon, request, end };
    const one = completed(begun(turn, { calls: [call] }));
    await store.summaries.begin({ ...one, end: null }, lease);
    await store.summaries.update(one);
    const keys = await store.purges.blobKeysOf(turn.id);
    assert.ok(keys.includes(request.blob) && keys.includes(end.response), keys.join());
    assert.equal(await store.purges.purgeSession(session.id, []), true);
    assert.equal(await store.summaries.get(one.id), null);
  });
}
