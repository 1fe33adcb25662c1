/**
 * The tests that every provider must pass. Run them on your own driver to check that it keeps the contract (B5, Y1). A
 * driver is tested in scenes, and declares which of them it supports.
 */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import type { ErrorCode } from "../domain/errors.ts";
import { answerText, type HistoryItem } from "../domain/history.ts";
import { eventOrderFault } from "./event-order.ts";
import type { ModelCall, PreparedRequest, Provider, ProviderEvent, ProviderFailed } from "./provider.ts";

/**
 * How the server behaves during one test. `text`: it answers with a text of several words. `tool_call`: it answers with
 * a call of the forced tool. `held`: it begins to answer with a text and then sends nothing more. `cut`: the answer
 * breaks off. `garbage`: it answers with something else. `unreachable`: no connection can be made.
 */
export type ProviderScene = "text" | "tool_call" | "held" | "cut" | "garbage" | "unreachable";

export interface OpenProvider {
  provider: Provider;
  /** Texts that must never be shown: keys, passwords. */
  secrets: readonly string[];
}
/** Opens a provider in a scene, or returns null if it does not support the scene. `context.after` gets the cleanup. */
export type OpenProviderForTest = (
  context: TestContext,
  scene: ProviderScene,
) => OpenProvider | null | Promise<OpenProvider | null>;

/** Registers the tests. They are listed under `name`. */
export function providerSuite(name: string, open: OpenProviderForTest): void {
  suite(name, () => {
    prepareTests(open);
    contentTests(open);
    answerTests(open);
    abortTests(open);
    failureTests(open);
  });
}

const never = new AbortController().signal;
const patience = { timeout: 10_000 };

function prepareTests(open: OpenProviderForTest): void {
  test("[E7] prepare is pure: the same call gives the same bytes and is left as it was", async (context) => {
    const { provider } = await opened(open, context, "text");
    const call = deepFreeze(longCall());
    const first = provider.prepare(call);
    assert.deepEqual(provider.prepare(structuredClone(call)), first);
    assert.ok(first.body.isWellFormed());
    assert.equal(first.model, call.model);
  });

  test("[C5] its own reasoning is taken, with and without what only it can read", async (context) => {
    const { provider } = await opened(open, context, "text");
    const { defaultModel: model, name } = provider;
    const own: HistoryItem = { type: "reasoning", provider: name, model, text: "hm" };
    const answered: HistoryItem = { type: "assistant", text: "hello too" };
    const call = {
      ...textCall("hello"),
      model,
      items: [...textCall("hello").items, own, answered, ...textCall("and?").items],
    };
    const events = await collect(provider, provider.prepare(call));
    assertOrder(events);
    assert.equal(events.at(-1)?.type, "finished");
  });

  test("[E6] the history is in the body, whole and in order", async (context) => {
    const { provider } = await opened(open, context, "text");
    const { body } = provider.prepare(longCall());
    const places = markers.map((marker) => body.indexOf(marker));
    assert.ok(!places.includes(-1), `${markers[places.indexOf(-1)]} is not in the body`);
    assert.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
    );
  });

  test("[E6] a longer history begins like the shorter one", async (context) => {
    const { provider } = await opened(open, context, "text");
    const items = longCall().items;
    const shorter = provider.prepare({ ...longCall(), items: items.slice(0, -1) }).body;
    const longer = provider.prepare(longCall()).body;
    const shared = commonFront(shorter, longer);
    assert.ok(shared > shorter.indexOf(markers.at(-2) ?? ""), `only ${shared} characters are shared`);
  });
}

function contentTests(open: OpenProviderForTest): void {
  test("[E4] every tool and the forced one are in the body, and so is that none may be called", async (context) => {
    const { provider } = await opened(open, context, "text");
    const free = provider.prepare(toolCall(null)).body;
    assert.ok(free.includes('"lookup"') && free.includes('"other"'));
    const forced = provider.prepare(toolCall("lookup")).body;
    assert.ok(forced.includes('"lookup"'));
    // A wire may be unable to express "some of the tools". It expresses "none of them", or sends no tools.
    const closed = provider.prepare({ ...toolCall(null), allowedTools: [] }).body;
    assert.equal(new Set([free, forced, closed]).size, 3);
  });

  test("[C5] reasoning of another provider is left out and counted", async (context) => {
    const { provider } = await opened(open, context, "text");
    const foreign: HistoryItem = {
      type: "reasoning",
      provider: `not-${provider.name}`,
      model: provider.defaultModel,
      text: "foreign-text",
      opaque: { id: "rs_1", summary: [], encrypted_content: "foreign-cipher" },
    };
    const without = textCall("hello");
    const { body, dropped } = provider.prepare({ ...without, items: [foreign, foreign, ...without.items] });
    assert.deepEqual(dropped, [{ kind: "reasoning", count: 2 }]);
    assert.equal(body, provider.prepare(without).body);
    assert.deepEqual(provider.prepare(without).dropped, []);
  });

  test("[E8] no secret is in a body or in what names the provider", async (context) => {
    const { provider, secrets } = await opened(open, context, "text");
    const { body } = provider.prepare(longCall());
    assertNoSecret(secrets, body, provider.name, provider.account, provider.defaultModel);
    assert.ok(provider.name !== "" && provider.account !== "" && provider.defaultModel !== "");
  });
}

function answerTests(open: OpenProviderForTest): void {
  test("[D3] a text comes as bytes, deltas, the whole item and one last event", async (context) => {
    const { provider } = await opened(open, context, "text");
    const events = await collect(provider, provider.prepare(textCall("hello")));
    assertOrder(events);
    const last = events.at(-1);
    assert.ok(last?.type === "finished", JSON.stringify(last));
    assert.equal(last.stopReason, "stop");
    assert.notEqual(answerText(itemsOf(events)), "");
    assert.ok(events.filter((event) => event.type === "text_delta").length > 1, "it does not stream");
    assert.ok(last.usage.total > 0 && last.model !== "");
  });

  test("[E4] a forced tool is called", async (context) => {
    const there = await openIn(open, context, "tool_call");
    if (there === null) return;
    const events = await collect(there.provider, there.provider.prepare(toolCall("lookup")));
    assertOrder(events);
    const [call] = itemsOf(events).filter((item) => item.type === "tool_call");
    assert.equal(call?.name, "lookup");
    assert.doesNotThrow(() => JSON.parse(call?.arguments ?? ""));
    const last = events.at(-1);
    assert.equal(last?.type === "finished" && last.stopReason, "tool_calls");
  });

  test("[E7] a prepared request can be sent again, also at the same time", async (context) => {
    const { provider } = await opened(open, context, "text");
    const request = Object.freeze(provider.prepare(textCall("hello")));
    const answers = await Promise.all([collect(provider, request), collect(provider, request)]);
    answers.push(await collect(provider, request));
    for (const events of answers) {
      assertOrder(events);
      assert.equal(events.at(-1)?.type, "finished");
    }
  });
}

function abortTests(open: OpenProviderForTest): void {
  test("[T10] a call that is aborted before it begins ends as interrupted", patience, async (context) => {
    const { provider } = await opened(open, context, "text");
    const events = await collect(provider, provider.prepare(textCall("hello")), AbortSignal.abort());
    assertFailed(events, "interrupted");
  });

  test("[T10] an answer that is aborted on its way ends soon, as interrupted", patience, async (context) => {
    const there = await openIn(open, context, "held");
    if (there === null) return;
    const { provider } = there;
    const abort = new AbortController();
    const events: ProviderEvent[] = [];
    for await (const event of provider.send(provider.prepare(textCall("hello")), abort.signal)) {
      events.push(event);
      if (event.type === "text_delta") abort.abort();
    }
    const { usage } = assertFailed(events, "interrupted");
    assert.ok(events.some((event) => event.type === "text_delta"));
    assert.equal(usage.isPartial, true, "what an answer that was cut has used is unknown (T4)");
  });

  test("a caller may stop reading", patience, async (context) => {
    const there = await openIn(open, context, "held");
    if (there === null) return;
    const { provider } = there;
    for await (const event of provider.send(provider.prepare(textCall("hello")), never)) {
      if (event.type === "text_delta") break;
    }
  });
}

function failureTests(open: OpenProviderForTest): void {
  const scenes: { scene: ProviderScene; code: ErrorCode; isRetryable: boolean }[] = [
    { scene: "cut", code: "provider_stream_cut", isRetryable: true },
    { scene: "garbage", code: "provider_answer_invalid", isRetryable: false },
    { scene: "unreachable", code: "provider_unavailable", isRetryable: true },
  ];
  for (const { scene, code, isRetryable } of scenes) {
    test(`[C7] ${scene}: one failed event with code ${code}, and nothing is thrown`, patience, async (context) => {
      const there = await openIn(open, context, scene);
      if (there === null) return;
      const events = await collect(there.provider, there.provider.prepare(textCall("hello")));
      const { failure, usage } = assertFailed(events, code);
      assert.equal(failure.retryable, isRetryable);
      if (scene !== "garbage")
        assert.equal(usage.isPartial === true, scene === "cut", "a cut answer has an unknown usage (T4)");
      assertNoSecret(there.secrets, failure.message);
    });
  }

  test("[C7] a body that this provider never made fails without being thrown", patience, async (context) => {
    const { provider, secrets } = await opened(open, context, "text");
    for (const body of ["", "no JSON", "null", '{"items":[null]}', "\ud800"]) {
      const events = await collect(provider, { model: "any", body, dropped: [] });
      const { failure } = assertFailed(events);
      assert.equal(failure.retryable, false, `${JSON.stringify(body)}: ${failure.code}`);
      assertNoSecret(secrets, failure.message);
    }
  });
}

async function openIn(
  open: OpenProviderForTest,
  context: TestContext,
  scene: ProviderScene,
): Promise<OpenProvider | null> {
  const there = await open(context, scene);
  if (there === null) context.skip(`this provider cannot be in the scene "${scene}"`);
  return there;
}

/** Opens a provider in the scene `text`, which every provider must support. */
async function opened(open: OpenProviderForTest, context: TestContext, scene: "text"): Promise<OpenProvider> {
  const there = await open(context, scene);
  assert.ok(there, "every provider can answer with a text");
  return there;
}

async function collect(provider: Provider, request: PreparedRequest, signal = never): Promise<ProviderEvent[]> {
  return await Array.fromAsync(provider.send(request, signal));
}

function itemsOf(events: readonly ProviderEvent[]): HistoryItem[] {
  return events.flatMap((event) => (event.type === "item" ? [event.item] : []));
}

function assertOrder(events: readonly ProviderEvent[]): void {
  assert.equal(eventOrderFault(events), null);
}

function assertFailed(events: readonly ProviderEvent[], code?: ErrorCode): ProviderFailed {
  assertOrder(events);
  const last = events.at(-1);
  assert.ok(last?.type === "failed", JSON.stringify(last));
  if (code !== undefined) assert.equal(last.failure.code, code, last.failure.message);
  return last;
}

function assertNoSecret(secrets: readonly string[], ...texts: string[]): void {
  for (const secret of secrets) for (const text of texts) assert.ok(!text.includes(secret), "a secret shows");
}

const markers = ["mark-prompt", "mark-user", "mark-part", "mark-answer", "mark-arguments", "mark-output", "mark-last"];

const noTools = { tools: [], toolChoice: null, allowedTools: null };

function textCall(instruction: string): ModelCall {
  const parts = [`[MODE: ask]\n\n[INSTRUCTION]\n${instruction}`];
  const shared = { model: "model-1", previousResponseId: null, store: false, settings: {} };
  return { ...shared, ...noTools, prompt: "mark-prompt", items: [{ type: "user", parts }] };
}

function longCall(): ModelCall {
  const items: HistoryItem[] = [
    { type: "user", parts: ["mark-user", "mark-part"] },
    { type: "assistant", text: "mark-answer \ud83d\ude00 \u2028", phase: "commentary" },
    { type: "tool_call", callId: "call_1", name: "lookup", arguments: '{"key":"mark-arguments"}' },
    { type: "tool_result", callId: "call_1", output: "mark-output" },
    { type: "user", parts: ["mark-last"] },
  ];
  const settings = { temperature: 0.5, maxOutputTokens: 100, reasoningEffort: "low" as const };
  return { ...toolCall(null), items, settings };
}

function toolCall(toolChoice: string | null): ModelCall {
  const parameters = { type: "object", properties: { key: { type: "string" } }, required: ["key"] };
  const tools = [
    { name: "lookup", description: "Looks a key up.", parameters },
    { name: "other", parameters },
  ];
  return { ...textCall("look it up"), tools, toolChoice };
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

function commonFront(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
