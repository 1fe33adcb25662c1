/** What a turn did before it failed is kept, and the next turn continues from it (T12, R6). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { alice, all, testEngine, testParts, testRunner } from "../../../testing/engine.ts";
import { AptoveError } from "../../domain/errors.ts";
import { historyItems } from "../../domain/lineage.ts";
import type { FinishedTurn } from "../../domain/turn.ts";
import { memoryEventLog } from "../../live/memory/memory-event-log.ts";
import type { ModelCall } from "../../providers/provider.ts";
import type { ScriptedAnswer } from "../../providers/scripted/scripted.ts";
import type { Tool } from "../../tools/tool.ts";
import { createEngine } from "../create-engine.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { Histories } from "./kept/histories.ts";

const writer: Tool = {
  definition: { name: "write", description: "", parameters: { type: "object" }, effect: "read" },
  needsApproval: () => false,
  run: async ({ text }) => ({ output: `wrote ${String(text)}`, isError: false }),
};

const clientTool = { name: "run_tests", parameters: { type: "object" } };

/** A model that writes a file in each of its first answers, and then does what `last` says. */
function writes(times: number, last: () => ScriptedAnswer) {
  return (call: ModelCall): ScriptedAnswer => {
    const results = call.items.filter(({ type }) => type === "tool_result").length;
    if (isNext(call)) return "I know";
    return results < times ? [{ calls: "write", with: { text: `part ${results + 1}` } }] : last();
  };
}

function isNext({ items }: ModelCall): boolean {
  return JSON.stringify(items).includes("and then?");
}

function failureCode(turn: FinishedTurn): string {
  return turn.status === "failed" ? turn.failures[0].code : turn.status;
}

const replaying = { conversation: { history: "replay" as const } };

test("[T12] [E2] files written before a cut stream are known to the next turn, which gets a note of how the turn ended", async (t) => {
  const script = writes(2, () => [{ says: "Now I will" }, { cuts: true }]);
  const { ask, engine, provider } = await testEngine(t, { ...replaying, script });
  const failed = await ask("write two parts", { ownTools: [writer] });
  assert.equal(failureCode(failed), "provider_stream_cut");
  assert.equal((await engine.sessions.get(alice, failed.sessionId)).headTurnId, failed.id);
  const next = await ask("and then?", { sessionId: failed.sessionId, ownTools: [writer] });
  assert.equal(next.parentId, failed.id);
  const { items } = provider.exchanges.at(-1)?.call ?? { items: [] };
  assert.deepEqual(
    items.map(({ type }) => type),
    ["user", "tool_call", "tool_result", "tool_call", "tool_result", "assistant", "user"],
  );
  assert.deepEqual(items.at(-2), { type: "assistant", text: "Now I will" });
  const last = items.at(-1);
  assert.match(last?.type === "user" ? (last.parts[1] ?? "") : "", /^\[NOTE\]\n.*failed.*provider_stream_cut/);
  const report = await engine.explain.verify(alice, failed.sessionId);
  assert.deepEqual([report.fault, report.turnsUnsealed], [null, 0]);
});

test("[T12] [T8] a call that the failure cut off before it ran has a result that says so", async (t) => {
  const script = (call: ModelCall): ScriptedAnswer =>
    isNext(call) ? "fine" : [{ says: "look" }, { calls: "write", with: {} }, { cuts: true }];
  const { ask, provider } = await testEngine(t, { ...replaying, script });
  const failed = await ask("go", { ownTools: [writer] });
  await ask("and then?", { sessionId: failed.sessionId, ownTools: [writer] });
  const result = provider.exchanges.at(-1)?.call.items.find(({ type }) => type === "tool_result");
  assert.equal(result?.type === "tool_result" && result.output, "failed: the call was not run");
});

test("[T12] [T9] results of a client's tool are kept if the model fails or is stopped while it works on them", async (t) => {
  for (const end of ["fails", "stops"] as const) {
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const script = (call: ModelCall): ScriptedAnswer => {
      if (isNext(call)) return "fine";
      if (!call.items.some(({ type }) => type === "tool_result")) return [{ calls: "run_tests", with: {} }];
      begun.resolve();
      return end === "fails" ? [{ fails: "provider_rejected" }] : [{ waits: held.promise }];
    };
    const { ask, start, engine, provider } = await testEngine(t, { ...replaying, script });
    const waiting = await ask("test it", { tools: [clientTool] });
    assert.ok(waiting.status === "awaiting_tool_results");
    const callId = waiting.deferredCalls[0]?.callId ?? "";
    const { sessionId } = waiting;
    const answered = { sessionId, tools: [clientTool], toolResults: [{ callId, output: "3 passed", isError: false }] };
    const running = await start("", answered);
    await begun.promise;
    if (end === "stops") await engine.turns.interrupt(alice, { turnId: running.turnId });
    const ended = await running.finished;
    assert.equal(ended.status, end === "fails" ? "failed" : "completed");
    assert.equal((await engine.sessions.get(alice, sessionId)).headTurnId, ended.id);
    await ask("and then?", { sessionId, tools: [clientTool] });
    const results = provider.exchanges.at(-1)?.call.items.filter(({ type }) => type === "tool_result");
    assert.deepEqual(results, [{ type: "tool_result", callId, output: "3 passed" }]);
    held.resolve();
  }
});

test("[T12] [Q5] results of a client's tool are kept if the turn that brings them fails before the model is called", async (t) => {
  const script = (call: ModelCall): ScriptedAnswer =>
    call.items.some(({ type }) => type === "tool_result") ? "fine" : [{ calls: "run_tests", with: {} }];
  let isBroken = false;
  const search = async (): Promise<never[]> => {
    if (isBroken) throw new AptoveError("retrieval_failed", "the index cannot be read");
    return [];
  };
  const retrievers = new Map([
    ["local", { search, list: async () => [], close: async () => {} }],
  ]) as unknown as EngineDependencies["retrievers"];
  const { ask, provider } = await testEngine(t, { ...replaying, script, retrievers });
  const waiting = await ask("test it", { tools: [clientTool], repo: "r" });
  assert.ok(waiting.status === "awaiting_tool_results");
  const callId = waiting.deferredCalls[0]?.callId ?? "";
  const toolResults = [{ callId, output: "3 passed", isError: false }];
  const { sessionId } = waiting;
  isBroken = true;
  const failed = await ask("go on", { sessionId, tools: [clientTool], toolResults });
  assert.equal(failureCode(failed), "retrieval_failed");
  isBroken = false;
  const next = await ask("and then?", { sessionId, tools: [clientTool] });
  assert.equal(next.parentId, failed.id);
  const { items } = provider.exchanges.at(-1)?.call ?? { items: [] };
  assert.deepEqual(
    items.map(({ type }) => type),
    ["user", "tool_call", "tool_result", "user", "user"],
  );
});

test("[T12] [S5] a failed turn whose state cannot be written is never a head, and says so", async (t) => {
  const { ask, engine, deps } = await testEngine(t, { script: () => [{ says: "half" }, { cuts: true }] });
  const { put } = deps.blobs;
  deps.blobs.put = async (key, bytes) => {
    if (key.endsWith("/state.json")) throw new AptoveError("storage_full", "no room");
    await put.call(deps.blobs, key, bytes);
  };
  const failed = await ask("go");
  assert.equal(failureCode(failed), "storage_full");
  assert.ok(failed.warnings.some(({ code }) => code === "history_not_kept"));
  assert.equal((await engine.sessions.get(alice, failed.sessionId)).headTurnId, null);
});

/** An engine that dies while the model is called for the third time, after two tools have run. */
async function killed(t: TestContext, more: { blindLog?: boolean } = {}) {
  const reached = Promise.withResolvers<void>();
  const last = (): ScriptedAnswer => {
    reached.resolve();
    return [{ says: "Now I" }, { waits: new Promise<void>(() => {}) }];
  };
  const log = memoryEventLog();
  const deps = testParts({ ...replaying, log, script: writes(2, last) });
  const engine = await createEngine(deps);
  t.after(() => engine.close({ graceMs: 0 }));
  const cut = await engine.turns.run(alice, { instruction: "write two parts", ownTools: [writer] });
  await reached.promise;
  for await (const { event } of cut.events()) if (event.type === "text_delta") break;
  if (more.blindLog === true) log.read = async () => Promise.reject(new AptoveError("storage_failed", "damaged"));
  const next = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => false });
  return { ...next, cut, deps };
}

test("[R6] [R2] [T12] after kill -9 the next turn knows the completed steps, and the text that the live log has", async (t) => {
  const { engine, ask, cut, deps } = await killed(t);
  const lost = await engine.turns.get(alice, cut.turnId);
  assert.ok(lost.status === "failed" && lost.blobs.state !== null);
  assert.equal(lost.failures[0].code, "runner_lost");
  assert.equal((await engine.sessions.get(alice, cut.sessionId)).headTurnId, lost.id);
  const kept = historyItems(await new Histories(deps.blobs, deps.records).state(lost.id));
  assert.deepEqual(
    kept.map(({ type }) => type),
    ["user", "tool_call", "tool_result", "tool_call", "tool_result", "assistant"],
  );
  assert.deepEqual(kept.at(-1), { type: "assistant", text: "Now I" });
  const next = await ask("and then?", { sessionId: cut.sessionId, ownTools: [writer] });
  assert.equal(next.parentId, lost.id);
  const report = await engine.explain.verify(alice, cut.sessionId);
  assert.deepEqual([report.fault, report.turnsUnsealed, report.turnsChecked], [null, 0, 2]);
  const reader = await engine.turns.read(alice, lost.id);
  assert.ok((await reader.response(1)).length > 0, "the exact response of a completed step is kept (D3)");
  assert.deepEqual(await deps.blobs.list(`turns/${lost.id}/progress-`), []);
});

test("[R6] [R2] a live log that cannot be read costs only the text that it alone had", async (t) => {
  const { engine, cut, deps } = await killed(t, { blindLog: true });
  const lost = await engine.turns.get(alice, cut.turnId);
  assert.ok(lost.status === "failed" && lost.blobs.state !== null);
  assert.ok(lost.warnings.some(({ code }) => code === "live_log_unreadable"));
  const kept = historyItems(await new Histories(deps.blobs, deps.records).state(lost.id));
  assert.equal(kept.length, 5);
  const events = await all(await engine.turns.events(alice, lost.id, { afterSeq: 0 }));
  assert.equal(events.filter(({ event }) => event.type === "tool_result").length, 2);
  assert.equal(events.at(-1)?.event.type, "run_failed");
});

test("[R6] the progress of a turn is deleted when the turn has ended", async (t) => {
  const { start, deps, engine } = await testEngine(t, { ...replaying, script: writes(3, () => "done") });
  const running = await start("write", { ownTools: [writer] });
  const turn = await running.finished;
  await engine.close({ graceMs: 0 });
  const keys = await deps.blobs.list(`turns/${turn.id}/`);
  assert.ok(
    keys.some((key) => key.includes("/request-4")) && !keys.some((key) => key.includes("/progress-")),
    keys.join(),
  );
});

test("[V4] [R2] a message that a dead runner never gave to the model is in the record, and the next turn gets it", async (t) => {
  const script = (call: ModelCall): ScriptedAnswer =>
    isNext(call) ? "fine" : [{ waits: new Promise<void>(() => {}) }];
  const deps = testParts({ ...replaying, script });
  const engine = await createEngine(deps);
  t.after(() => engine.close({ graceMs: 0 }));
  const cut = await engine.turns.run(alice, { instruction: "work" });
  await engine.turns.steer(alice, { turnId: cut.turnId, text: "mind the tests" });
  const next = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => false });
  const lost = await next.engine.turns.get(alice, cut.turnId);
  assert.ok(lost.status === "failed");
  const [warning] = lost.warnings.filter(({ code }) => code === "steer_undelivered");
  assert.match(warning?.message ?? "", /mind the tests$/);
  await next.ask("and then?", { sessionId: cut.sessionId });
  const last = deps.scripted.exchanges.at(-1)?.call.items.at(-1);
  assert.match(last?.type === "user" ? (last.parts[1] ?? "") : "", /^\[NOTE\]\n.*mind the tests$/);
  assert.deepEqual(await deps.blobs.list(`turns/${cut.turnId}/steer-`), []);
});

test("[V4] [R2] a message that came too late for a model call is recorded once if the process dies before the end is stored", async (t) => {
  const gone = Promise.withResolvers<void>();
  const script = (call: ModelCall): ScriptedAnswer =>
    isNext(call) ? "fine" : [{ says: "half" }, { waits: gone.promise }, { fails: "provider_rejected" }];
  const deps = testParts({ ...replaying, script });
  const { turns } = deps.records;
  const { finish } = turns;
  const ending = Promise.withResolvers<void>();
  turns.finish = () => (ending.resolve(), new Promise(() => {}));
  const engine = await createEngine(deps);
  const cut = await engine.turns.run(alice, { instruction: "work" });
  await engine.turns.steer(alice, { turnId: cut.turnId, text: "mind the tests" });
  gone.resolve();
  await ending.promise;
  turns.finish = finish;
  const next = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => false });
  const lost = await next.engine.turns.get(alice, cut.turnId);
  assert.ok(lost.status === "failed");
  assert.equal(lost.warnings.filter(({ code }) => code === "steer_undelivered").length, 1);
  await next.ask("and then?", { sessionId: cut.sessionId });
  const asked = JSON.stringify(deps.scripted.exchanges.at(-1)?.call.items.at(-1));
  assert.equal(asked.split("mind the tests").length - 1, 1, asked);
});

test("[V4] [T12] a message that the model never received waits until a turn keeps it", async (t) => {
  for (const text of ["", "half"]) {
    const begun = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const script = ({ items }: ModelCall): ScriptedAnswer => {
      const instruction = JSON.stringify(items.at(-1));
      if (instruction.includes("again")) return [{ fails: "provider_rejected" }];
      if (!instruction.includes("work")) return "fine";
      begun.resolve();
      return [{ says: text }, { waits: gone.promise }, { fails: "provider_rejected" }];
    };
    const { start, ask, engine, provider } = await testEngine(t, { ...replaying, script });
    const lost = await start("work");
    const { sessionId, turnId } = lost;
    await begun.promise;
    await engine.turns.steer(alice, { turnId, text: "mind the tests" });
    gone.resolve();
    assert.equal((await lost.finished).status, "failed");
    const isSent = async (instruction: string): Promise<boolean> => {
      await ask(instruction, { sessionId });
      return JSON.stringify(provider.exchanges.at(-1)?.call.items.at(-1)).includes("mind the tests");
    };
    assert.deepEqual([await isSent("again"), await isSent("once more"), await isSent("and now")], [true, true, false]);
  }
});

test("[V4] [T9] a turn that only brings results of tools gets the message that a dead runner never gave to the model", async (t) => {
  const script = (call: ModelCall): ScriptedAnswer => {
    if (isNext(call)) return [{ waits: new Promise<void>(() => {}) }];
    const isAnswered = call.items.some(({ type }) => type === "tool_result");
    return isAnswered ? "fine" : [{ calls: "run_tests", callId: "call_1" }];
  };
  const deps = testParts({ ...replaying, script });
  const engine = await createEngine(deps);
  t.after(() => engine.close({ graceMs: 0 }));
  const { sessionId, finished } = await engine.turns.run(alice, { instruction: "test it", tools: [clientTool] });
  const waiting = await finished;
  const cut = await engine.turns.run(alice, { instruction: "and then?", sessionId });
  await engine.turns.steer(alice, { turnId: cut.turnId, text: "mind the tests" });
  const next = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => false });
  const toolResults = [{ callId: "call_1", output: "all pass", isError: false }];
  await next.ask("", { sessionId, expectedHead: waiting.id, toolResults });
  const items = deps.scripted.exchanges.at(-1)?.call.items ?? [];
  assert.deepEqual(
    items.map(({ type }) => type),
    ["user", "tool_call", "tool_result", "user"],
  );
  const last = items.at(-1);
  assert.match(last?.type === "user" ? last.parts.join() : "", /^\[NOTE\]\n[^\n]*mind the tests$/);
});

test("[R6] [T8] [T12] a call of which the live log has only the name was cut off, and is not taken for one without arguments", async (t) => {
  const stuck: Tool = { ...writer, run: () => new Promise(() => {}) };
  const called = Promise.withResolvers<void>();
  const deps = testParts({
    ...replaying,
    script: () => [{ calls: "write", with: { text: "part 1" } }],
    tools: [stuck],
  });
  const { append } = deps.log;
  deps.log.append = async (turnId, events, mayWrite) => {
    const upToName = events.findIndex(({ type }) => type === "tool_call_started") + 1;
    await append.call(deps.log, turnId, upToName === 0 ? events : events.slice(0, upToName), mayWrite);
    if (upToName === 0) return;
    deps.log.append = async () => {};
    called.resolve();
  };
  const engine = await createEngine(deps);
  t.after(() => engine.close({ graceMs: 0 }));
  const cut = await engine.turns.run(alice, { instruction: "work" });
  await called.promise;
  const next = await testEngine(t, { ...deps, runner: testRunner(), isAlive: () => false });
  const lost = await next.engine.turns.get(alice, cut.turnId);
  assert.deepEqual([lost.status, lost.blobs.state], ["failed", null]);
});
