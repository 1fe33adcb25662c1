/** The driver on the real wire, against the strict fake. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { type FakeAnthropic, startFakeAnthropic } from "../../../testing/fake-anthropic/fake-anthropic.ts";
import * as reply from "../../../testing/fake-anthropic/replies.ts";
import { serverWith } from "../../../testing/fake-server/other-servers.ts";
import { closedAfter } from "../../../testing/fake-server/posted.ts";
import {
  callsTo,
  eventsOf,
  failureIn,
  itemsOf,
  lookTool,
  receivedText,
  userInstruction,
} from "../../../testing/provider-exchange.ts";
import type { ErrorCode } from "../../domain/errors.ts";
import { answerText, type HistoryItem } from "../../domain/history.ts";
import type { ModelCall, Provider, ProviderEvent } from "../provider.ts";
import { type AnthropicOptions, anthropicProvider } from "./anthropic.ts";

const apiKey = "sk-ant-test-0123456789";
const never = new AbortController().signal;
const callOf = callsTo("claude-opus-5-5", { tools: [lookTool] });
const patience = { timeout: 10_000 };

interface Wire {
  fake: FakeAnthropic;
  provider: Provider;
}

async function wired(context: TestContext, options: Partial<AnthropicOptions> = {}): Promise<Wire> {
  const fake = closedAfter(context, await startFakeAnthropic({ apiKey }));
  return { fake, provider: anthropicProvider({ apiKey, baseUrl: fake.url, model: "claude-opus-5-5", ...options }) };
}

function finishedItems(events: readonly ProviderEvent[]): HistoryItem[] {
  const last = events.at(-1);
  assert.equal(last?.type, "finished", JSON.stringify(last));
  return itemsOf(events);
}

const thought: reply.FakeOutput = { type: "thinking", text: "hm so" };
const looked: reply.FakeOutput = { type: "tool_use", name: "look", input: '{"at": "a"}' };

/** A session so far: a question, thinking and a call, its result, thinking and an answer. */
async function session({ fake, provider }: Wire, more: Partial<ModelCall> = {}): Promise<HistoryItem[]> {
  fake.next(
    { output: [thought, looked] },
    { output: [thought, { type: "redacted_thinking" }, { type: "text", text: "there" }] },
  );
  const first = [
    userInstruction("where?"),
    ...finishedItems(await eventsOf(provider, callOf([userInstruction("where?")], more))),
  ];
  const call = first.at(-1);
  assert.ok(call?.type === "tool_call");
  const before: HistoryItem[] = [...first, { type: "tool_result", callId: call.callId, output: "here" }];
  return [...before, ...finishedItems(await eventsOf(provider, callOf(before, more)))];
}

test("[C1] [C5] thinking goes back as it came, at every step and turn, and the model sees all of it", async (context) => {
  const wire = await wired(context);
  const history = await session(wire);
  await eventsOf(wire.provider, callOf([...history, userInstruction("sure?")]));
  const last = wire.fake.requests.at(-1);
  assert.deepEqual(last?.seen?.dropped, []);
  assert.deepEqual(last?.seen?.blocks.map(({ role, block }) => `${role} ${block.type}`).slice(0, 7), [
    "user text",
    "assistant thinking",
    "assistant tool_use",
    "user tool_result",
    "assistant thinking",
    "assistant redacted_thinking",
    "assistant text",
  ]);
});

test("[C6] [E6] where the beginning has changed, thinking is dropped and nothing is refused", async (context) => {
  const wire = await wired(context);
  const history = await session(wire);
  const changes: Partial<ModelCall>[] = [
    { prompt: "be long" },
    { tools: [lookTool, { name: "more", parameters: {} }] },
  ];
  for (const change of changes) {
    finishedItems(await eventsOf(wire.provider, callOf([...history, userInstruction("sure?")], change)));
    assert.deepEqual(
      wire.fake.requests.at(-1)?.seen?.dropped.map(({ reason }) => reason),
      Array.from({ length: 3 }, () => "prefix_binding_mismatch"),
    );
  }
  const summary = userInstruction("summary of the conversation before");
  const compacted = [summary, ...history.slice(4), userInstruction("sure?")];
  finishedItems(await eventsOf(wire.provider, callOf(compacted)));
  assert.equal(wire.fake.requests.at(-1)?.seen?.dropped.length, 2);
});

test("[C5] a session may go to another model and back; each sees only its own thinking", async (context) => {
  const wire = await wired(context);
  const history = await session(wire);
  const other = callOf([...history, userInstruction("and?")], { model: "claude-sonnet-5-5" });
  assert.deepEqual(wire.provider.prepare(other).dropped, [{ kind: "reasoning", count: 3 }]);
  wire.fake.next({ output: [thought, { type: "text", text: "also" }] });
  const longer = [...other.items, ...finishedItems(await eventsOf(wire.provider, other)), userInstruction("back?")];
  const back = callOf(longer);
  assert.deepEqual(wire.provider.prepare(back).dropped, [{ kind: "reasoning", count: 1 }]);
  finishedItems(await eventsOf(wire.provider, back));
  assert.deepEqual(wire.fake.requests.at(-1)?.seen?.dropped, []);
});

test("[E6] the next call reads from the prompt cache all that the last one sent", async (context) => {
  const wire = await wired(context);
  const history = await session(wire);
  const turns = (await eventsOf(wire.provider, callOf([...history, userInstruction("sure?")]))).at(-1);
  const fork = (await eventsOf(wire.provider, callOf([userInstruction("something else")]))).at(-1);
  assert.ok(turns?.type === "finished" && fork?.type === "finished");
  const [, step] = wire.fake.requests;
  assert.ok(step?.seen && turns.usage.cached > step.seen.prefix.tokens / 2);
  assert.ok(turns.usage.cached < turns.usage.input);
  assert.ok(fork.usage.cached > 0 && fork.usage.cached < turns.usage.cached, "the tools and the prompt are cached too");
});

test("[D3] [E7] the prepared bytes are those on the wire, and the answer's bytes come back whole", async (context) => {
  const { fake, provider } = await wired(context);
  const request = provider.prepare(callOf([userInstruction("größe 😀 \u2028")]));
  await Array.fromAsync(provider.send(request, never));
  assert.equal(fake.requests[0]?.raw.toString("utf8"), request.body);
  const wire =
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"x"}}\n\n: a comment\r\n\r\n' +
    'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n';
  fake.next({ status: 200, headers: { "content-type": "text/event-stream" }, body: wire });
  const events = await eventsOf(provider, callOf([userInstruction("a")]));
  assert.equal(receivedText(events), wire);
  assert.equal(events.at(-1)?.type, "finished");
});

test("[E8] the key is sent as a header and is nowhere else", async (context) => {
  const headers = {
    "X-Api-Key": "other-key-1",
    "Anthropic-Beta": "some-beta-2026-01-01",
    "anthropic-workspace-id": "w1",
  };
  const { fake, provider } = await wired(context, { headers });
  const request = provider.prepare(callOf([userInstruction("a")]));
  const events = await Array.fromAsync(provider.send(request, never));
  const [got] = fake.requests;
  assert.equal(got?.headers["x-api-key"], apiKey);
  assert.equal(got.headers["anthropic-version"], "2026-10-21");
  assert.equal(got.headers["anthropic-beta"], "thinking-binding-controls-2026-08-01,some-beta-2026-01-01");
  assert.equal(got.headers["anthropic-workspace-id"], "w1");
  assert.ok(!JSON.stringify([request, events, provider]).includes(apiKey));
});

test("[E8] an error that quotes secrets is given without them", async (context) => {
  const workspace = "wrkspc_secret_1";
  const { fake, provider } = await wired(context, { headers: { "anthropic-workspace-id": workspace } });
  fake.next({ status: 400, body: { error: { message: `bad key ${apiKey} of ${workspace}` } } });
  const { failure } = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_rejected", apiKey);
  assert.equal(failure.message, "anthropic: bad key [secret] of [secret] (HTTP 400)");
  const wrongKey = anthropicProvider({ apiKey: "sk-ant-wrong-98765432", baseUrl: fake.url, model: "m" });
  const refused = failureIn(
    await eventsOf(wrongKey, callOf([userInstruction("a")])),
    "provider_unauthenticated",
    apiKey,
  );
  assert.equal(refused.failure.message, "anthropic answered 401 to the API key");
});

test("the base URL may have the version in it", async (context) => {
  const { fake } = await wired(context);
  for (const baseUrl of [`${fake.url}/`, `${fake.url}/v1`, `${fake.url}/v1/`]) {
    finishedItems(await eventsOf(anthropicProvider({ apiKey, baseUrl, model: "m" }), callOf([userInstruction("a")])));
  }
});

test("[C7] rate limits, money, faults, refusals: each with its code and its wait", async (context) => {
  const { fake, provider } = await wired(context);
  const cases: [reply.FakeReply, ErrorCode, number | null][] = [
    [reply.rateLimited("7"), "provider_rate_limited", 7_000],
    [reply.rateLimited(), "provider_rate_limited", null],
    [reply.rateLimited("3600", "enforced_spend_limit_reached"), "provider_quota_exhausted", 3_600_000],
    [reply.outOfMoney("credit"), "provider_quota_exhausted", null],
    [reply.outOfMoney("limit"), "provider_quota_exhausted", null],
    [reply.outOfMoney("billing"), "provider_quota_exhausted", null],
    [reply.overloaded(), "provider_unavailable", null],
    [reply.serverFault(), "provider_unavailable", null],
    [reply.promptTooLong(), "context_window_exceeded", null],
    [reply.requestTooLarge(), "context_window_exceeded", null],
    [reply.contentRefused(), "provider_refused_content", null],
    [{ status: 502, body: "<html>bad gateway</html>" }, "provider_unavailable", null],
    [{ status: 302, headers: { location: "http://127.0.0.1:1/" }, body: "" }, "provider_rejected", null],
  ];
  for (const [answer, code, wait] of cases) {
    fake.next(answer);
    const failed = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), code, apiKey);
    assert.equal(failed.retryAfterMs, wait);
  }
});

test("[E4] if a model takes no forced tool, the failure says so", async (context) => {
  const { provider } = await wired(context);
  const { failure } = failureIn(
    await eventsOf(provider, callOf([userInstruction("a")], { toolChoice: "look" })),
    "provider_rejected",
    apiKey,
  );
  assert.match(failure.message, /type "tool" and "any" are not supported for this model/);
});

test("[C7] a stream that is cut anywhere is a failure that keeps what came", async (context) => {
  const { fake, provider } = await wired(context);
  const output: reply.FakeOutput[] = [{ type: "text", text: "one two three" }];
  for (const how of ["end", "reset"] as const) {
    for (const afterEvents of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
      fake.next({ output, cut: { afterEvents, how } });
      const events = await eventsOf(provider, callOf([userInstruction("a")]));
      const { usage } = failureIn(events, "provider_stream_cut", apiKey);
      // The first event has the count of the input, which is kept (T4).
      const hasWholeUsage = how === "end" && afterEvents === 8;
      if (!hasWholeUsage && how === "end") assert.equal(usage.isPartial, true);
      if (how === "end") assert.equal(usage.input > 0, afterEvents > 0);
      const deltas = events.filter((event) => event.type === "text_delta").length;
      const sent = Math.min(3, Math.max(0, afterEvents - 3));
      // With the connection `fetch` also drops what it had and we had not read.
      assert.ok(how === "end" ? deltas === sent : deltas <= sent, `${how} after ${afterEvents}: ${deltas}`);
    }
  }
});

test("[C7] an error in the middle of a stream keeps what came before it", async (context) => {
  const { fake, provider } = await wired(context);
  const ending = { error: { type: "overloaded_error" as const, message: "Overloaded" } };
  fake.next({ output: [{ type: "text", text: "one two" }], ending });
  const events = await eventsOf(provider, callOf([userInstruction("a")]));
  const { failure, usage } = failureIn(events, "provider_unavailable", apiKey);
  assert.deepEqual([failure.message, failure.retryable], ["anthropic: Overloaded", true]);
  assert.ok(usage.input > 0);
  assert.ok(events.some((event) => event.type === "item"));
});

test("[C7] a body that is not an answer is distinguished from an answer that was cut", async (context) => {
  const { fake, provider } = await wired(context);
  const stream = "text/event-stream; charset=utf-8";
  const cases: [body: string, type: string, code: ErrorCode][] = [
    ["<html>It works!</html>", "text/html", "provider_answer_invalid"],
    ["<html>It works!</html>", stream, "provider_answer_invalid"],
    ['{"id":"msg_1","type":"message","content":[]}', "application/json", "provider_answer_invalid"],
    ["data: no json\n\n", stream, "provider_answer_invalid"],
    ['data: {"type":"content_block_delta"}\n\n', stream, "provider_answer_invalid"],
    ["", stream, "provider_stream_cut"],
    ['event: ping\ndata: {"type":"ping"}\n\n', stream, "provider_stream_cut"],
  ];
  for (const [body, type, code] of cases) {
    fake.next({ status: 200, headers: { "content-type": type }, body });
    const events = await eventsOf(provider, callOf([userInstruction("a")]));
    failureIn(events, code, apiKey);
    assert.equal(receivedText(events), body);
  }
});

test("[C7] a provider that sends nothing is given up", patience, async (context) => {
  const { fake, provider } = await wired(context, { firstByteMs: 40 });
  const released = Promise.withResolvers<void>();
  context.after(() => released.resolve());
  fake.next({ silentUntil: released.promise });
  failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_unavailable", apiKey);
  assert.equal(await (await fake.request(1)).ended, "left");
});

test("[C7] a provider that stops sending is given up", patience, async (context) => {
  const { fake, provider } = await wired(context, { idleMs: 200 });
  const released = Promise.withResolvers<void>();
  context.after(() => released.resolve());
  fake.next({ output: [{ type: "text", text: "one two" }], hold: { afterEvents: 4, until: released.promise } });
  const events = await eventsOf(provider, callOf([userInstruction("a")]));
  failureIn(events, "provider_stream_cut", apiKey);
  assert.equal(events.filter((event) => event.type === "text_delta").length, 1);
});

test("[C7] a slow stream is not given up while it moves", patience, async (context) => {
  const { fake, provider } = await wired(context, { idleMs: 600 });
  fake.eventDelayMs = 60;
  const text = "a b c d e f g h";
  fake.next(text);
  assert.equal(answerText(finishedItems(await eventsOf(provider, callOf([userInstruction("a")])))), text);
});

test("[T10] an abort closes the connection", patience, async (context) => {
  const { fake, provider } = await wired(context);
  const released = Promise.withResolvers<void>();
  context.after(() => released.resolve());
  const abort = new AbortController();
  fake.next({ silentUntil: released.promise });
  const events = eventsOf(provider, callOf([userInstruction("a")]), abort.signal);
  const { ended } = await fake.request(1);
  abort.abort();
  failureIn(await events, "interrupted", apiKey);
  assert.equal(await ended, "left");
});

test("[C7] an answer is whole once its end is there, whatever the connection does then", patience, async (context) => {
  const end = 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\ndata: {"type":"message_stop"}\n\n';
  const baseUrl = await serverWith(context, (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(end, () => response.socket?.destroySoon());
  });
  const events = await eventsOf(anthropicProvider({ apiKey, baseUrl, model: "m" }), callOf([userInstruction("a")]));
  assert.equal(events.at(-1)?.type, "finished");
});
