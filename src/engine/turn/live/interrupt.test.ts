import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, all, testEngine, untilEvent } from "../../../../testing/engine.ts";
import { isTerminal } from "../../../domain/events.ts";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { operatorLog } from "../../../telemetry/log/operator-log.ts";
import { observers } from "../../../telemetry/observer.ts";

/** Reads events until one fits, so that a test knows where the run is. */
test("[T10] an interrupted turn that has output is completed, keeps it, and the session goes on by a new chain", async (t) => {
  let n = 0;
  const never = new Promise<void>(() => {});
  const script = () => ((n += 1) === 1 ? [{ says: ["half ", "an ", never, "answer"] }] : "whole");
  const { engine, start, ask, answer, provider } = await testEngine(t, { script });
  const running = await start("long");
  await untilEvent(running, "text_delta");
  assert.equal(await engine.turns.interrupt(alice, { turnId: running.turnId }), running.turnId);
  const turn = await running.finished;
  assert.equal(turn.status, "completed");
  assert.equal(turn.stopReason, "interrupted");
  assert.ok("half an ".startsWith(await answer(turn.id)) && (await answer(turn.id)) !== "");
  assert.equal(await engine.turns.interrupt(alice, { turnId: running.turnId }), null, "interrupting twice is no error");
  const next = await ask("go on", { sessionId: running.sessionId });
  assert.equal(next.parentId, turn.id);
  assert.ok(next.warnings.some(({ code, message }) => code === "chain_rebuilt" && message.includes("interrupted")));
  assert.deepEqual(
    provider.exchanges[1]?.call.items.map((item) => item.type),
    ["user", "assistant", "user"],
  );
});

test("[T10] an interrupted turn without output is failed with the code interrupted", async (t) => {
  const never = new Promise<void>(() => {});
  const { engine, start } = await testEngine(t, { script: () => [{ waits: never }] });
  const running = await start("long");
  await untilEvent(running, "step_started");
  await engine.turns.interrupt(alice, { sessionId: running.sessionId });
  const turn = await running.finished;
  assert.equal(turn.status === "failed" && turn.failures[0].code, "interrupted");
});

test("[T10] [T11] an interrupt before the first model call ends the turn, with its row and its terminal event", async (t) => {
  const searching = Promise.withResolvers<void>();
  const found = Promise.withResolvers<never[]>();
  const retriever = {
    search: () => (searching.resolve(), found.promise),
    index: () => assert.fail(),
    list: async () => [],
    close: async () => {},
  };
  const { engine, ask, start, provider } = await testEngine(t, { retrievers: new Map([["local", retriever]]) });
  const session = await ask("first");
  const starting = start("second", { sessionId: session.sessionId, repo: "here" });
  await searching.promise;
  assert.ok(await engine.turns.interrupt(alice, { sessionId: session.sessionId }));
  found.resolve([]);
  const running = await starting;
  const turn = await running.finished;
  assert.equal(turn.status === "failed" && turn.failures[0].code, "interrupted");
  assert.equal(provider.exchanges.length, 1);
  const events = await all(running.events());
  assert.equal(events.filter(({ event }) => isTerminal(event)).length, 1);
});

test("[T8] [T10] a call that was interrupted before it ran is closed with a result that says so", async (t) => {
  let n = 0;
  const never = new Promise<void>(() => {});
  const script = () =>
    (n += 1) === 1 ? [{ says: "let me look" }, { calls: "look", callId: "call_1" }, { waits: never }] : "fine";
  const { engine, start, ask, provider } = await testEngine(t, { script });
  const tools = [{ name: "look", parameters: { type: "object" } }];
  const running = await start("look", { tools });
  await untilEvent(running, "tool_call_ended");
  await engine.turns.interrupt(alice, { turnId: running.turnId });
  assert.equal((await running.finished).status, "completed");
  await ask("go on", { sessionId: running.sessionId, tools });
  const items = provider.exchanges[1]?.call.items ?? [];
  assert.deepEqual(
    items.map((item) => item.type),
    ["user", "assistant", "tool_call", "tool_result", "user"],
  );
});

test("[R4] closing refuses new turns, lets running ones finish in their grace time, and leaves nothing pending", async (t) => {
  const held = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  // The grace time lasts until the test says so, or until every turn is finished.
  const sleep = (_ms: number, signal: AbortSignal) =>
    Promise.race([waiting.promise, new Promise<void>((done) => signal.addEventListener("abort", () => done()))]);
  const { engine, start, deps } = await testEngine(t, { script: () => [{ says: ["a ", held.promise, "b"] }], sleep });
  const running = await start("long");
  await untilEvent(running, "text_delta");
  const closing = engine.close({ graceMs: 60_000 });
  await assert.rejects(start("too late"), /shutting down/);
  held.resolve();
  assert.equal((await running.finished).status, "completed");
  await closing;
  waiting.resolve();
  assert.deepEqual(await deps.records.runners.list().catch(() => []), []);
});

test("[R4] [T10] what does not finish in the grace time is interrupted and keeps its output", async (t) => {
  const never = new Promise<void>(() => {});
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = operatorLog({ format: "json", level: "warn", write, secrets: [], now: () => 0 });
  const { engine, start } = await testEngine(t, {
    script: (_call, n) => [{ says: n === 1 ? ["a ", never, "b"] : [never] }],
    observer: observers([log.observer]),
  });
  const running = await start("long");
  await untilEvent(running, "text_delta");
  const silent = await start("silent");
  const stopped = await start("stopped by a person");
  for (const one of [silent, stopped]) await untilEvent(one, "step_started");
  await engine.turns.interrupt(alice, { turnId: stopped.turnId });
  await engine.close({ graceMs: 0 });
  const turn = await running.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
  const codesOf = async ({ finished }: typeof running) => (await finished).warnings.map(({ code }) => code);
  assert.deepEqual(await Promise.all([running, silent, stopped].map(codesOf)), [
    ["server_stopped"],
    ["server_stopped"],
    [],
  ]);
  const outcomes = lines
    .map((line) => JSON.parse(line) as Record<string, string>)
    .map((one) => [one["turnId"], one["outcome"]]);
  assert.deepEqual(
    outcomes.toSorted(),
    [
      [turn.id, "server_stopped"],
      [silent.turnId, "server_stopped"],
    ].toSorted(),
  );
});

test("[R4] a request that was on its way when the engine began to close is refused, and leaves nothing pending", async (t) => {
  const records = memoryRecords();
  const { ask, start, engine } = await testEngine(t, { records });
  const first = await ask("one");
  const { getWithHead } = records.sessions;
  const asked = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  records.sessions.getWithHead = async (id) => {
    asked.resolve();
    await held.promise;
    return await getWithHead.call(records.sessions, id);
  };
  const starting = start("two", { sessionId: first.sessionId });
  await asked.promise;
  const closing = engine.close();
  held.resolve();
  await assert.rejects(starting, /shutting down/);
  await closing;
  assert.equal(await records.turns.findPending(first.sessionId), null);
});

test("[R4] the stores are open until the doors are closed, which is after the last turn", async (t) => {
  const records = memoryRecords();
  const { close } = records;
  let isOpen = true;
  records.close = async () => {
    isOpen = false;
    await close.call(records);
  };
  const { engine, start } = await testEngine(t, { records });
  const { sessionId, finished } = await start("one");
  const seen: unknown[] = [];
  await engine
    .close({
      onTurnsEnded: async () => {
        seen.push((await finished).status, isOpen);
        await new Promise((resolve) => setImmediate(resolve));
        seen.push((await engine.sessions.get(alice, sessionId)).id, isOpen);
        throw new Error("a port stays open");
      },
    })
    .catch((error: unknown) => seen.push(error));
  assert.deepEqual(seen.slice(0, 4), ["completed", true, sessionId, true]);
  assert.match(String(seen[4]), /a port stays open/);
  assert.equal(isOpen, false);
});

test("[T10] a tool does not begin once its turn is stopped", async (t) => {
  const records = memoryRecords();
  const storing = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const { insertStep } = records.turns;
  records.turns.insertStep = async (step, runnerId) => {
    storing.resolve();
    await held.promise;
    return await insertStep.call(records.turns, step, runnerId);
  };
  const tool = {
    definition: { name: "build", parameters: { type: "object" } },
    needsApproval: () => false,
    run: () => assert.fail("it was stopped before"),
  };
  const { start, engine } = await testEngine(t, { records, tools: [tool], script: () => [{ calls: "build" }] });
  const running = await start("build it");
  await storing.promise;
  await engine.turns.interrupt(alice, { turnId: running.turnId });
  held.resolve();
  const turn = await running.finished;
  assert.equal(turn.status === "completed" && turn.stopReason, "interrupted");
  const results = (await all(running.events())).flatMap(({ event }) => (event.type === "tool_result" ? [event] : []));
  assert.deepEqual(
    results.map(({ output }) => output),
    ["interrupted: the call was not run"],
  );
});
