import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { callsTo } from "../../../testing/provider-exchange.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { eventOrderFault } from "../event-order.ts";
import type { ModelCall, Provider, ProviderEvent } from "../provider.ts";
import { providerSuite, type ProviderScene } from "../provider.suite.ts";
import { type Script, scriptedProvider } from "./scripted.ts";

providerSuite("scripted", (context, scene) => {
  return { provider: scriptedProvider({ script: scriptOf(scene, context) }), secrets: [] };
});

function scriptOf(scene: ProviderScene, context: TestContext): Script {
  const held = Promise.withResolvers<void>();
  context.after(() => held.resolve());
  switch (scene) {
    case "text":
      return () => "one two three";
    case "tool_call":
      return () => [{ thinks: "hm, hm" }, { calls: "lookup", with: { key: "a" } }];
    case "held":
      return () => [{ says: ["one ", held.promise, "two"] }];
    case "cut":
      return () => [{ says: "one two" }, { cuts: true }];
    case "garbage":
      return () => {
        throw new AptoveError("provider_answer_invalid", "the script is garbage");
      };
    case "unreachable":
      return () => [{ fails: "provider_unavailable" }];
  }
}

const never = new AbortController().signal;
const callOf = callsTo("m", { prompt: "p", store: true });

async function exchange(provider: Provider, call: ModelCall): Promise<ProviderEvent[]> {
  const events = await Array.fromAsync(provider.send(provider.prepare(call), never));
  assert.equal(eventOrderFault(events), null);
  return events.filter((event) => event.type !== "bytes");
}

function failureCode(events: readonly ProviderEvent[]): string | undefined {
  const last = events.at(-1);
  return last?.type === "failed" ? last.failure.code : undefined;
}

const hello: HistoryItem = { type: "user", parts: ["hello"] };
const more: HistoryItem = { type: "user", parts: ["more"] };

test("[C3] a remembered response is continued with its whole context, until it is forgotten", async () => {
  const provider = scriptedProvider({ remembers: true });
  const first = await exchange(provider, callOf([hello]));
  const end = first.at(-1);
  const id = end?.type === "finished" ? end.responseId : null;
  assert.ok(id);
  const next = callOf([more], { prompt: null, previousResponseId: id });
  assert.equal((await exchange(provider, next)).at(-1)?.type, "finished");
  const seen = provider.exchanges[1];
  assert.deepEqual(seen?.context, [hello, { type: "assistant", text: "answer 1" }, more]);
  assert.equal(seen.prompt, "p");
  provider.forget(id);
  assert.equal(failureCode(await exchange(provider, next)), "chain_forgotten");
});

test("[C1] what was not stored, or not finished, cannot be continued", async () => {
  const provider = scriptedProvider({ remembers: true, script: (_call, n) => (n === 2 ? [{ cuts: true }] : "yes") });
  const ids: (string | null)[] = [];
  for (const store of [false, true]) {
    for (const event of await exchange(provider, callOf([hello], { store }))) {
      if (event.type === "started") ids.push(event.responseId);
    }
  }
  assert.equal(ids[0], null);
  assert.ok(ids[1]);
  const events = await exchange(provider, callOf([more], { previousResponseId: ids[1] }));
  assert.equal(failureCode(events), "chain_forgotten");
});

test("[T8] a call without its result is refused, in a chain and in a replay", async () => {
  const provider = scriptedProvider({ remembers: true, script: (_call, n) => (n === 1 ? [{ calls: "f" }] : "done") });
  const events = await exchange(provider, callOf([hello]));
  const end = events.at(-1);
  assert.ok(end?.type === "finished" && end.stopReason === "tool_calls");
  const calls = events.flatMap((event) => (event.type === "item" ? [event.item] : []));
  const chained = { previousResponseId: end.responseId };
  assert.equal(failureCode(await exchange(provider, callOf([more], chained))), "provider_rejected");
  assert.equal(failureCode(await exchange(provider, callOf([hello, ...calls, more]))), "provider_rejected");
  const result: HistoryItem = { type: "tool_result", callId: "call_scripted_1_1", output: "4" };
  assert.equal((await exchange(provider, callOf([result, more], chained))).at(-1)?.type, "finished");
});

test("a script is performed in order: thoughts, pieces, calls, its own end and usage", async () => {
  const usage = { input: 1, output: 2, cached: 0, reasoning: 0, total: 3 };
  const gate = Promise.withResolvers<void>();
  const provider = scriptedProvider({
    script: () => [
      { thinks: "hm", opaque: { a: 1 } },
      { says: ["a", gate.promise, "b"], phase: "commentary" },
      { calls: "f", with: "not json", callId: "c1" },
      { stops: "length", usage },
    ],
  });
  const opening = provider.prepare(callOf([hello]));
  const events: ProviderEvent[] = [];
  for await (const event of provider.send(opening, never)) {
    if (event.type !== "bytes") events.push(event);
    if (event.type === "text_delta" && event.delta === "a") gate.resolve();
  }
  assert.deepEqual(events, [
    { type: "started", responseId: null },
    { type: "reasoning_delta", itemId: "rs_scripted_1_1", delta: "hm" },
    {
      type: "item",
      itemId: "rs_scripted_1_1",
      item: { type: "reasoning", provider: "scripted", model: "m", text: "hm", opaque: { a: 1 } },
    },
    { type: "text_delta", itemId: "msg_scripted_1_2", delta: "a" },
    { type: "text_delta", itemId: "msg_scripted_1_2", delta: "b" },
    { type: "item", itemId: "msg_scripted_1_2", item: { type: "assistant", text: "ab", phase: "commentary" } },
    { type: "tool_call_started", callId: "c1", name: "f" },
    { type: "tool_call_delta", callId: "c1", delta: "not " },
    { type: "tool_call_delta", callId: "c1", delta: "json" },
    { type: "item", itemId: "c1", item: { type: "tool_call", callId: "c1", name: "f", arguments: "not json" } },
    { type: "finished", stopReason: "length", usage, responseId: null, model: "m" },
  ]);
});

test("a script fails with the code that it names, or gives the events themselves", async () => {
  const provider = scriptedProvider({
    script: (_call, n) =>
      n === 1 ? [{ says: "a" }, { fails: "provider_rate_limited", message: "slow", retryAfterMs: 5 }] : raw(),
  });
  async function* raw(): AsyncGenerator<ProviderEvent> {
    yield { type: "text_delta", itemId: "x", delta: "only this" };
  }
  const failed = (await exchange(provider, callOf([hello]))).at(-1);
  assert.deepEqual(failed?.type === "failed" && [failed.failure.message, failed.retryAfterMs], ["slow", 5]);
  assert.equal(failureCode(await exchange(provider, callOf([hello]))), "provider_stream_cut");
});
