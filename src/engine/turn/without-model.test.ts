/** Turns that extend or change a history without a model (O2). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { alice, testEngine } from "../../../testing/engine.ts";
import type { HistoryItem } from "../../domain/history.ts";

const texts = (items: readonly HistoryItem[] = []) =>
  items.map((item) =>
    item.type === "user" ? item.parts[0]?.split("\n").at(-1) : "text" in item ? item.text : item.type,
  );

test("[O2] items are stored without a model, as a part of the history", async (t) => {
  const { ask, provider, engine } = await testEngine(t);
  const first = await ask("one");
  const added = await ask("", {
    sessionId: first.sessionId,
    withoutModel: true,
    earlier: [
      { type: "user", text: "added" },
      { type: "assistant", text: "noted" },
    ],
  });
  assert.deepEqual([added.status, added.provider, provider.exchanges.length], ["completed", "import", 1]);
  await ask("two", { sessionId: first.sessionId });
  assert.deepEqual(texts(provider.exchanges[1]?.context), ["one", "answer 1", "added", "noted", "two"]);
  assert.equal((await engine.explain.verify(alice, first.sessionId)).fault, null);
});

test("[O2] [K2] hidden items are given to no model from then on, and the turns before keep them", async (t) => {
  const { ask, provider, engine } = await testEngine(t);
  const first = await ask("one");
  const second = await ask("two", { sessionId: first.sessionId });
  const hiding = await ask("", {
    sessionId: first.sessionId,
    withoutModel: true,
    hides: [
      { turnId: first.id, at: 0 },
      { turnId: first.id, at: 1 },
    ],
  });
  await ask("three", { sessionId: first.sessionId });
  assert.deepEqual(texts(provider.exchanges[2]?.context), ["two", "answer 2", "three"]);
  await ask("other", { fork: { turnId: second.id } });
  assert.deepEqual(texts(provider.exchanges[3]?.context), ["one", "answer 1", "two", "answer 2", "other"]);
  const history = await engine.turns.history(alice, hiding.id);
  assert.deepEqual(
    history.map(({ items }) => texts(items.map(({ item }) => item))),
    [[], ["two", "answer 2"], []],
  );
});

test("[O2] hidden items leave with an export, hidden", async (t) => {
  const here = await testEngine(t);
  const there = await testEngine(t);
  const first = await here.ask("one");
  const hides = [0, 1].map((at) => ({ turnId: first.id, at }));
  await here.ask("", { sessionId: first.sessionId, withoutModel: true, hides });
  await there.engine.transfer.import(alice, here.engine.transfer.export(alice, { sessionId: first.sessionId }));
  await there.ask("two", { sessionId: first.sessionId });
  assert.deepEqual(texts(there.provider.exchanges[0]?.context), ["two"]);
});

test("[O2] [T8] a call that is stored without its result waits for it, until a message follows", async (t) => {
  const here = await testEngine(t);
  const { ask, provider, engine } = here;
  const call = (callId: string) => ({ type: "tool_call" as const, callId, name: "f", arguments: "{}" });
  const result = (callId: string) => ({ callId, output: `result of ${callId}`, isError: false });
  const first = await ask("", { withoutModel: true, earlier: [{ type: "user", text: "one" }, call("a"), call("b")] });
  assert.ok(first.status === "awaiting_tool_results");
  assert.deepEqual(
    first.deferredCalls.map(({ callId, waitsFor }) => [callId, waitsFor]),
    [
      ["a", "client"],
      ["b", "client"],
    ],
  );
  const { sessionId } = first;
  const second = await ask("", { sessionId, withoutModel: true, toolResults: [result("a")] });
  assert.equal(second.status, "awaiting_tool_results");
  await ask("", { sessionId, toolResults: [result("b")] });
  assert.deepEqual(
    provider.exchanges[0]?.context.map((item) => (item.type === "tool_result" ? item.output : item.type)),
    ["user", "tool_call", "tool_call", "result of a", "result of b"],
  );
  const third = await ask("", { sessionId, withoutModel: true, earlier: [call("c")] });
  const fourth = await ask("", { sessionId, withoutModel: true, earlier: [{ type: "user", text: "two" }] });
  assert.deepEqual([third.status, fourth.status], ["awaiting_tool_results", "completed"]);
  await ask("three", { sessionId });
  const added = provider.exchanges[1]?.context.slice(-4);
  assert.deepEqual(
    added?.map((item) => (item.type === "tool_result" ? item.output : item.type)),
    ["tool_call", "failed: no result", "user", "user"],
  );
  assert.equal((await engine.explain.verify(alice, sessionId)).fault, null);
  const there = await testEngine(t);
  await there.engine.transfer.import(alice, engine.transfer.export(alice, { sessionId }));
  assert.equal((await there.engine.explain.verify(alice, sessionId)).fault, null);
});

test("[O2] [T8] a waiting call that is hidden needs no result, and the others wait on", async (t) => {
  const { ask, provider } = await testEngine(t);
  const call = (callId: string) => ({ type: "tool_call" as const, callId, name: "f", arguments: "{}" });
  const first = await ask("", { withoutModel: true, earlier: [{ type: "user", text: "one" }, call("a"), call("b")] });
  const { id: turnId, sessionId } = first;
  const hiding = await ask("", { sessionId, withoutModel: true, hides: [{ turnId, at: 1 }] });
  assert.ok(hiding.status === "awaiting_tool_results");
  assert.deepEqual(
    hiding.deferredCalls.map(({ callId }) => callId),
    ["b"],
  );
  await ask("", { sessionId, toolResults: [{ callId: "b", output: "done", isError: false }] });
  assert.deepEqual(
    provider.exchanges[0]?.context.map((item) => (item.type === "tool_result" ? item.output : item.type)),
    ["user", "tool_call", "done"],
  );
});
