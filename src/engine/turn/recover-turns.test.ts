import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine, testParts, testRunner } from "../../../testing/engine.ts";
import type { BlobStore } from "../../blobs/blob-store.ts";
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isTerminal, type SequencedEvent } from "../../domain/events.ts";
import { limits } from "../../domain/limits.ts";
import { unknownUsage } from "../../domain/usage.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { stepOf } from "../../records/suite/samples.ts";
import { wrapMethods } from "../../system/wrap-methods.ts";
import { operatorLog } from "../../telemetry/log/operator-log.ts";
import { observers } from "../../telemetry/observer.ts";
import type { Tool } from "../../tools/tool.ts";
import { hasCode } from "../../../testing/refusals.ts";
import { createEngine } from "../create-engine.ts";
import type { RunningTurn } from "../engine.ts";

const never = new Promise<void>(() => {});

async function reach(running: RunningTurn, type: string): Promise<void> {
  for await (const { event } of running.events()) if (event.type === type) return;
}

/** An engine that dies in the middle of an answer: it is not closed, and from then on it counts as dead. */
async function crashed() {
  const dead = new Set<string>();
  const stores = { ahead: 0 };
  const deps = testParts({
    records: memoryRecords({ now: () => Date.now() + stores.ahead }),
    script: (_call, n) => (n === 1 ? "whole" : [{ says: ["half ", "an ", never, "answer"] }]),
    isAlive: (runner) => !dead.has(runner.id),
  });
  const engine = await createEngine(deps);
  const first = await engine.turns.run(alice, { instruction: "one" });
  await first.finished;
  const cut = await engine.turns.run(alice, { instruction: "two", sessionId: first.sessionId });
  await reach(cut, "text_delta");
  const runOut = (): void => void (stores.ahead += limits.leaseMs);
  return { deps, engine, cut, die: () => void dead.add(deps.runner.id), runOut };
}

test("[R2] [T11] a restart fails the cut turn with runner_lost, keeps its output, and the session goes on", async (t) => {
  const { deps, cut, die, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  die();
  const { engine, answer } = await testEngine(t, { ...deps, runner: testRunner() });
  const turn = await engine.turns.get(alice, cut.turnId);
  assert.equal(turn.status === "failed" && turn.failures[0].code, "runner_lost");
  assert.equal("run" in turn && turn.run.usage.isPartial, true, "what the cut call used is unknown (T4)");
  assert.equal(await answer(turn.id), "half an ");
  const events = await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 }));
  assert.deepEqual(
    events.slice(-2).map(({ event }) => event.type),
    ["text_ended", "run_failed"],
  );
  assert.equal(await deps.log.read(turn.id, 0), null);
  const reader = await engine.turns.read(alice, turn.id);
  assert.ok((await reader.request(1)).length > 0, "the request was stored before it was sent");
  const next = await engine.turns.run(alice, { instruction: "three", sessionId: turn.sessionId });
  await engine.turns.interrupt(alice, { turnId: next.turnId });
  assert.equal((await next.finished).parentId, turn.id, "the next instruction continues from what the lost turn did");
});

test("[R2] [T11] a lost turn whose steps count what are no tokens ends, and its usage is unknown", async (t) => {
  const { deps, cut, die, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  const usage = { input: 1.5, output: -2, cached: 0, reasoning: 0, total: 1e300 };
  assert.ok(await deps.records.turns.insertStep(stepOf(cut.turnId, 1, { usage }), deps.runner.id));
  die();
  const { engine } = await testEngine(t, { ...deps, runner: testRunner() });
  const turn = await engine.turns.get(alice, cut.turnId);
  assert.deepEqual(turn.status === "failed" && turn.run.usage, unknownUsage);
});

test("[R2] [V2] a recovery waits for events that the live log does not give at once", async (t) => {
  const { deps, die, cut, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  const { read } = deps.log;
  deps.log.read = async (turnId, afterSeq, patience) =>
    patience === undefined ? null : await read.call(deps.log, turnId, afterSeq);
  die();
  const { answer } = await testEngine(t, { ...deps, runner: testRunner() });
  assert.equal(await answer(cut.turnId), "half an ");
});

test("[R2] [R1] a process never fails a turn that runs in it, also if the store finds its lease over", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const stores = { ahead: 0 };
  const records = memoryRecords({ now: () => Date.now() + stores.ahead });
  const held = Promise.withResolvers<void>();
  const { start, engine } = await testEngine(t, {
    records,
    script: () => [{ says: ["half ", held.promise, "whole"] }],
  });
  const running = await start("one");
  await reach(running, "text_delta");
  const { settleLost } = records.budgets;
  const recovered = Promise.withResolvers<void>();
  // The last step of a recovery.
  records.budgets.settleLost = async (lost) => {
    await settleLost.call(records.budgets, lost);
    if (lost === "of lost runners") recovered.resolve();
  };
  records.runners.renewLeases = async () => {
    throw new AptoveError("storage_failed", "no answer");
  };
  stores.ahead += limits.leaseMs;
  t.mock.timers.tick(limits.recoverMs);
  await recovered.promise;
  held.resolve();
  const turn = await running.finished;
  assert.equal(turn.status, "completed");
  assert.equal((await engine.explain.verify(alice, turn.sessionId)).fault, null);
});

test("[R2] a live runner's turn is never touched", async (t) => {
  const { deps, cut, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  const { engine } = await testEngine(t, { ...deps, runner: testRunner() });
  assert.equal((await engine.turns.get(alice, cut.turnId)).status, "pending");
});

test("[R1] [R2] a runner whose lease ran out is fenced: its late commit changes nothing", async (t) => {
  const { deps, cut, engine: old, runOut } = await crashed();
  // From another machine nothing but the lease tells. Its clock is an hour slow, which does not matter.
  const elsewhere = { ...deps, runner: testRunner(), isAlive: () => null, now: () => Date.now() - 3_600_000 };
  runOut();
  const { engine } = await testEngine(t, elsewhere);
  const failed = await engine.turns.get(alice, cut.turnId);
  assert.equal(failed.status, "failed");
  await old.close({ graceMs: 0 });
  assert.deepEqual(await cut.finished, failed, "the late runner learns what the records say");
  assert.deepEqual(await engine.turns.get(alice, cut.turnId), failed);
  assert.equal((await engine.sessions.get(alice, cut.sessionId)).headTurnId, failed.id);
});

test("[R2] a request that finds the session busy with a dead runner's turn recovers it at once", async (t) => {
  const { deps, cut, die, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  const { engine } = await testEngine(t, { ...deps, runner: testRunner() });
  die();
  const next = await engine.turns.run(alice, { instruction: "three", sessionId: cut.sessionId });
  assert.equal((await engine.turns.get(alice, cut.turnId)).status, "failed");
  await engine.turns.interrupt(alice, { turnId: next.turnId });
});

test("[R2] [F10] several recoveries at once finish a turn of another server once, and one of them tells of it", async (t) => {
  const { deps, cut, die, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  die();
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const observer = observers([
    operatorLog({ format: "json", level: "info", write, secrets: [], now: () => 0 }).observer,
  ]);
  const engines = await Promise.all([1, 2, 3].map(() => testEngine(t, { ...deps, observer, runner: testRunner() })));
  const turns = await Promise.all(engines.map(({ engine }) => engine.turns.get(alice, cut.turnId)));
  for (const turn of turns) assert.deepEqual(turn, turns[0]);
  const session = await engines[0]?.engine.sessions.get(alice, cut.sessionId);
  assert.equal(session?.lastTurnStatus, "failed");
  const [line, ...more] = lines.map((text) => JSON.parse(text) as object);
  const { id: lostRunnerId, host: lostHost, pid: lostPid } = deps.runner;
  assert.partialDeepStrictEqual(line, {
    ...{ level: "warn", event: "recovery", outcome: "recovered", code: "runner_lost" },
    ...{ turnId: cut.turnId, sessionId: cut.sessionId, lostRunnerId, lostHost, lostPid },
  });
  assert.deepEqual(more, []);
});

test("[R2] [V2] a recovery that another one has overtaken leaves the log to it", async (t) => {
  const { deps, cut, die, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  die();
  const overtaken = t.mock.method(
    deps.records.turns,
    "finish",
    async () => ({ outcome: "refused", turn: null }) as const,
  );
  await testEngine(t, { ...deps, runner: testRunner() });
  assert.equal(overtaken.mock.callCount(), 1);
  overtaken.mock.restore();
  assert.notEqual(await deps.log.read(cut.turnId, 0), null);
});

test("[R2] the log of a turn whose process died before it was dropped goes at the next start", async (t) => {
  const { ask, deps } = await testEngine(t);
  const turn = await ask("one");
  await deps.log.append(turn.id, [{ type: "step_started", step: 1 }]);
  await testEngine(t, { ...deps, runner: testRunner() });
  assert.deepEqual(await deps.log.list(), []);
});

test("[R2] [V2] the log of a purged turn goes when it is old, and one that alone has the events of its turn stays", async (t) => {
  const blobs = memoryBlobs();
  const { ask, deps, engine, caller } = await testEngine(t, { blobs });
  const purged = await ask("one");
  const put = blobs.put.bind(blobs);
  // The disk is full when the run is stored.
  blobs.put = async (key, bytes) =>
    key.endsWith("/run.json") ? await Promise.reject(new AptoveError("storage_full", "full")) : await put(key, bytes);
  const unstored = await ask("two");
  assert.equal("blobs" in unstored && unstored.blobs.run, null);
  await engine.tree.remove(caller, purged.sessionId);
  await engine.tree.purge(caller, purged.sessionId);
  await deps.log.append(purged.id, [{ type: "step_started", step: 1 }]);
  await testEngine(t, { ...deps, runner: testRunner() });
  assert.deepEqual((await deps.log.list()).toSorted(), [purged.id, unstored.id].toSorted());
  const now = (): number => Date.now() + limits.garbageAgeMs + 60_000;
  await testEngine(t, { ...deps, runner: testRunner(), now });
  assert.deepEqual(await deps.log.list(), [unstored.id]);
  const events = await all(await engine.turns.events(caller, unstored.id, { afterSeq: 0 }));
  assert.equal(events.at(-1)?.event.type, "run_failed");
});

test("[R1] [T11] a process that slept through its lease stops its turn when it wakes, and releases its listeners, which receive the end elsewhere", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { deps, cut, engine: old, runOut } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  const listening = assert.rejects(all(cut.events()), { code: "runner_lost" });
  runOut();
  const { engine } = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => null });
  t.mock.timers.tick(limits.leaseRenewMs);
  const turn = await cut.finished;
  assert.equal(turn.status === "failed" && turn.failures[0].code, "runner_lost");
  assert.deepEqual(await engine.turns.get(alice, turn.id), turn);
  await listening;
  const again = await all(await engine.turns.events(alice, turn.id, { afterSeq: 0 }));
  assert.equal(again.filter(({ event }) => isTerminal(event)).length, 1);
});

test("[R2] a turn that cannot be recovered holds up neither the others nor the start", async (t) => {
  const blobs = memoryBlobs();
  const deps = testParts({ blobs, script: () => [{ waits: never }], isAlive: (runner) => runner.id !== old.id });
  const old = deps.runner;
  const dying = await createEngine(deps);
  t.after(() => dying.close({ graceMs: 0 }));
  const stuck = (await dying.turns.run(alice, { instruction: "one" })).turnId;
  const lost = (await dying.turns.run(alice, { instruction: "two" })).turnId;
  const broken: BlobStore = {
    put: async (key, bytes) => {
      if (key.includes(stuck)) throw new AptoveError("storage_full", `no room for ${key}`);
      await blobs.put(key, bytes);
    },
    get: (key) => blobs.get(key),
    delete: (key) => blobs.delete(key),
    list: (prefix) => blobs.list(prefix),
    size: (key) => blobs.size(key),
  };
  const reports: string[] = [];
  const report = (message: string): void => void reports.push(message);
  const { engine } = await testEngine(t, { ...deps, blobs: broken, runner: testRunner(), report });
  assert.equal((await engine.turns.get(alice, lost)).status, "failed");
  assert.equal((await engine.turns.get(alice, stuck)).status, "pending");
  assert.equal(reports.filter((message) => message.includes(stuck)).length, 1);
});

test("[R4] [T11] a turn whose end could not be written is not left pending when the engine closes", async () => {
  const records = memoryRecords();
  const { finish: finishTurn } = records.turns;
  let isFull = true;
  records.turns.finish = async (finish) => {
    if (isFull) throw new AptoveError("storage_full", "no room");
    return await finishTurn.call(records.turns, finish);
  };
  const engine = await createEngine(testParts({ records }));
  const running = await engine.turns.run(alice, { instruction: "x" });
  await running.finished;
  assert.equal((await records.turns.get(running.turnId))?.status, "pending");
  isFull = false;
  await engine.close({ graceMs: 0 });
  assert.equal((await records.turns.get(running.turnId))?.status, "failed");
});

test("[V2] [R2] a process that starts while another one ends a turn takes no events from its listeners", async (t) => {
  const held = Promise.withResolvers<void>();
  const { start, engine, deps } = await testEngine(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
  const { finish: finishTurn } = deps.records.turns;
  deps.records.turns.finish = async (finish) => {
    const result = await finishTurn.call(deps.records.turns, finish);
    // The row is written; the other process finds a log of a finished turn, and drops it.
    await testEngine(t, { ...deps, runner: testRunner() });
    return result;
  };
  const running = await start("go");
  const received: SequencedEvent[] = [];
  for await (const event of running.events()) {
    received.push(event);
    if (event.event.type === "text_delta") held.resolve();
  }
  assert.deepEqual(received, await all(await engine.turns.events(alice, running.turnId, { afterSeq: 0 })));
  assert.equal(await deps.log.read(running.turnId, 0), null);
});

test("[R2] a process that ends while a tool runs loses nothing of the model call that asked for it", async (t) => {
  const called = Promise.withResolvers<void>();
  const tool: Tool = {
    definition: { name: "build", parameters: { type: "object" } },
    needsApproval: () => false,
    run: () => (called.resolve(), never.then(() => ({ output: "", isError: false }))),
  };
  const dead = new Set<string>();
  const deps = testParts({
    tools: [tool],
    script: () => [{ calls: "build" }],
    isAlive: (runner) => !dead.has(runner.id),
  });
  const old = await createEngine(deps);
  t.after(() => old.close({ graceMs: 0 }));
  const running = await old.turns.run(alice, { instruction: "build it" });
  await called.promise;
  dead.add(deps.runner.id);
  const { engine } = await testEngine(t, { ...deps, runner: testRunner() });
  const turn = await engine.turns.get(alice, running.turnId);
  assert.equal(turn.status === "failed" && turn.failures[0].code, "runner_lost");
  const steps = await (await engine.turns.read(alice, turn.id)).steps();
  assert.deepEqual(
    steps.map(({ outcome }) => outcome),
    [{ status: "completed", stopReason: "tool_calls" }],
  );
  assert.ok(turn.status === "failed" && turn.run.usage.total > 0);
});

test("[R1] [R2] a server whose clock is an hour fast takes no turn of a live runner", async (t) => {
  const { deps, cut, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  const fast = { ...deps, runner: testRunner(), isAlive: () => null, now: () => Date.now() + 3_600_000 };
  const { engine } = await testEngine(t, fast);
  assert.equal((await engine.turns.get(alice, cut.turnId)).status, "pending");
});

test("[R1] [T11] a server that is cut off from its records stops model and tools before its lease ends, and lets its listeners go", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const time = { passed: 0 };
  const records = memoryRecords({ now: () => Date.now() + time.passed });
  let isCutOff = false;
  const reachable = wrapMethods(
    records,
    (method) =>
      async (...args) =>
        await (isCutOff ? never : method(...args)),
  );
  const began = Promise.withResolvers<AbortSignal>();
  const tool: Tool = {
    definition: { name: "build", parameters: { type: "object" } },
    needsApproval: () => false,
    run: (_args, { signal }) => (began.resolve(signal), never.then(() => ({ output: "", isError: false }))),
  };
  const deps = testParts({
    records: reachable,
    monotonic: () => time.passed,
    tools: [tool],
    script: () => [{ says: ["I build"] }, { calls: "build" }],
  });
  const cutOff = await createEngine(deps);
  const running = await cutOff.turns.run(alice, { instruction: "build it" });
  const listening = all(running.events());
  const signal = await began.promise;
  // The events so far are appended at the end of the round.
  await new Promise(setImmediate);
  isCutOff = true;
  const pass = (ms: number): void => ((time.passed += ms), t.mock.timers.tick(ms));
  for (let past = 0; past < limits.leaseMs - limits.leaseMarginMs; past += 100) {
    assert.equal(signal.aborted, false, `the lease is held after ${past} ms`);
    pass(100);
  }
  assert.equal(signal.aborted, true, "it stops in time to be over when others take the turn");
  await assert.rejects(listening, { code: "runner_lost" });
  await new Promise(setImmediate);
  const logged = (await deps.log.read(running.turnId, 0)) ?? [];
  assert.equal(
    logged.at(-1)?.event.type,
    "tool_call_view",
    "what it does while it stops reaches no listener elsewhere",
  );

  pass(limits.leaseMarginMs);
  const { engine } = await testEngine(t, { ...deps, records, runner: testRunner(), isAlive: () => null });
  const turn = await engine.turns.get(alice, running.turnId);
  assert.equal(turn.status === "failed" && turn.failures[0].code, "runner_lost");
  assert.equal(turn.status === "failed" && turn.run.modelRequests, 1, "the step that ended is kept");
  const kept = await all(await engine.turns.events(alice, running.turnId, { afterSeq: 0 }));
  assert.equal(kept.at(-1)?.event.type, "run_failed");
});

test("[R2] where the wall clock of a machine counts leases, a step of it never ends the turn of a live process", async (t) => {
  const { deps, cut, die, runOut, engine: old } = await crashed();
  t.after(() => old.close({ graceMs: 0 }));
  runOut();
  const { engine, start } = await testEngine(t, { ...deps, runner: testRunner(), recordsAreEmbedded: true });
  assert.equal((await engine.turns.get(alice, cut.turnId)).status, "pending");
  await assert.rejects(start("three", { sessionId: cut.sessionId }), hasCode("session_busy"));
  die();
  const later = await testEngine(t, { ...deps, runner: testRunner(), recordsAreEmbedded: true });
  assert.equal((await later.engine.turns.get(alice, cut.turnId)).status, "failed");
});

for (const code of ["storage_full", "records_damaged", "records_moved"] as const) {
  test(`[R2] [T11] a turn that a failing store ended says so, if its process lives to store the end (${code})`, async (t) => {
    const records = memoryRecords();
    let fails = true;
    const { finish } = records.turns;
    records.turns.finish = (end) =>
      fails ? Promise.reject(new AptoveError(code, "as the test wants it")) : finish.call(records.turns, end);
    const { ask, engine } = await testEngine(t, { records });
    const ended = await ask("one");
    fails = false;
    await ask("two", { sessionId: ended.sessionId });
    const turn = await engine.turns.get(alice, ended.id);
    assert.equal(turn.status === "failed" && turn.failures[0].code, code);
  });
}
