/** The driver on the real wire, against the strict fake. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { type FakeGoogle, startFakeGoogle } from "../../../testing/fake-google/fake-google.ts";
import { refusedWith } from "../../../testing/fake-server/deliver.ts";
import * as reply from "../../../testing/fake-google/replies.ts";
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
import type { HistoryItem } from "../../domain/history.ts";
import type { ModelCall, Provider } from "../provider.ts";
import { type GoogleOptions, googleProvider } from "./google.ts";

const apiKey = "AIza-test-0123456789";
const model = "gemini-3-flash";
const never = new AbortController().signal;
const callOf = callsTo(model, { tools: [lookTool] });
const patience = { timeout: 10_000 };

interface Wire {
  fake: FakeGoogle;
  provider: Provider;
}

async function wired(context: TestContext, options: Partial<GoogleOptions> = {}): Promise<Wire> {
  const fake = closedAfter(context, await startFakeGoogle({ apiKey, models: [model, "gemini-2.5-flash"] }));
  return { fake, provider: googleProvider({ apiKey, baseUrl: fake.url, model, ...options }) };
}

/** Asks, answers every call, and asks again, until there are no more calls. Gives the whole history. */
async function converse(
  provider: Provider,
  history: HistoryItem[],
  more: Partial<ModelCall> = {},
): Promise<HistoryItem[]> {
  for (;;) {
    const events = await eventsOf(provider, callOf(history, more));
    const last = events.at(-1);
    assert.equal(last?.type, "finished", JSON.stringify(last));
    const items = itemsOf(events);
    const results = items.flatMap((item): HistoryItem[] =>
      item.type === "tool_call" ? [{ type: "tool_result", callId: item.callId, output: "here" }] : [],
    );
    history.push(...items, ...results);
    if (results.length === 0) return history;
  }
}

test("[C1] [C5] [T8] a conversation with tools is taken: every signature comes back on its own part", async (context) => {
  const { fake, provider } = await wired(context);
  fake.next(
    {
      output: [
        { type: "thought", text: "hm so" },
        { type: "call", name: "look", args: { at: "a" } },
        { type: "call", name: "look", args: { at: "b" } },
      ],
    },
    {
      output: [
        { type: "text", text: "Let me see.", signed: true },
        { type: "call", name: "look", args: { at: "c" }, id: null },
      ],
    },
    { output: [{ type: "text", text: "It is there.", signed: "apart" }] },
    {
      output: [
        { type: "thought", text: "hm then", signed: true },
        { type: "text", text: "Yes." },
      ],
    },
    "Bye.",
  );
  const history = await converse(provider, [userInstruction("where?")]);
  await converse(provider, [...history, userInstruction("sure?")]);
  const again = [
    ...history,
    userInstruction("sure?"),
    ...itemsOf(await eventsOf(provider, callOf([...history, userInstruction("sure?")]))),
  ];
  await converse(provider, [...again, userInstruction("bye")]);
  assert.deepEqual(
    fake.requests.map(({ refusal }) => refusal?.message),
    fake.requests.map(() => undefined),
  );
  const roles = fake.requests[3]?.body?.contents.map(({ role }) => role);
  assert.deepEqual(roles, ["user", "model", "user", "model", "user", "model", "user"]);
});

test("[C5] a history that another model wrote is taken, with tools in the middle, by every version", async (context) => {
  const { fake, provider } = await wired(context);
  for (const name of [model, "gemini-2.5-flash"]) {
    const history: HistoryItem[] = [
      userInstruction("where?"),
      { type: "reasoning", provider: "openai", model: "gpt-5.1", text: "", opaque: { id: "rs_1" } },
      { type: "tool_call", callId: "call_AbC123", name: "look", arguments: "no JSON" },
      { type: "tool_call", callId: "toolu_01", name: "look", arguments: "" },
      { type: "tool_result", callId: "toolu_01", output: "there", isError: true },
      { type: "tool_result", callId: "call_AbC123", output: "" },
    ];
    await converse(provider, history, { model: name });
    assert.equal(fake.requests.at(-1)?.model, name);
  }
});

test("[D3] [E7] the prepared bytes are those on the wire, and the answer's bytes come back whole", async (context) => {
  const { fake, provider } = await wired(context);
  const request = provider.prepare(callOf([userInstruction("größe 😀 \u2028")]));
  await Array.fromAsync(provider.send(request, never));
  assert.equal(fake.requests[0]?.raw.toString("utf8"), request.body);
  const wire =
    ': a comment\r\n\r\ndata: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}\r\n\r\n' +
    'data: {"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1}}\n\n';
  fake.next({ status: 200, headers: { "content-type": "text/event-stream" }, body: wire });
  const events = await eventsOf(provider, callOf([userInstruction("a")]));
  assert.equal(receivedText(events), wire);
  const last = events.at(-1);
  assert.equal(last?.type === "finished" && last.usage.total, 8);
});

test("[E8] the key is sent as a header: it is in no address, body or error", async (context) => {
  const { fake, provider } = await wired(context, { headers: { "x-goog-user-project": "project-secret" } });
  const request = provider.prepare(callOf([userInstruction("a")]));
  const events = await Array.fromAsync(provider.send(request, never));
  const [got] = fake.requests;
  assert.equal(got?.headers["x-goog-api-key"], apiKey);
  assert.equal(got.path, `/v1beta/models/${model}:streamGenerateContent?alt=sse`);
  assert.ok(!/AIza|project-secret/.test(JSON.stringify([got.path, request, events, provider])));
  fake.next({ status: 400, body: { error: { message: `bad key ${apiKey} of project-secret` } } });
  const { failure } = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_rejected", apiKey);
  assert.equal(failure.message, "google: bad key [secret] of [secret] (HTTP 400)");
  const wrongKey = googleProvider({ apiKey: "AIza-wrong", baseUrl: fake.url, model });
  failureIn(await eventsOf(wrongKey, callOf([userInstruction("a")])), "provider_unauthenticated", apiKey);
});

test("[C7] a missing model, and a model in another collection, are requested by their own URL", async (context) => {
  const { fake, provider } = await wired(context);
  const missing = failureIn(
    await eventsOf(provider, callOf([userInstruction("a")], { model: "gemini-9 x/y" })),
    "provider_rejected",
    apiKey,
  );
  assert.match(missing.failure.message, /was not found on this server/);
  assert.equal(fake.requests[0]?.path, "/v1beta/gemini-9%20x/y:streamGenerateContent?alt=sse");
  const unknown = failureIn(
    await eventsOf(provider, callOf([userInstruction("a")], { model: "gemini-9" })),
    "provider_rejected",
    apiKey,
  );
  assert.match(unknown.failure.message, /models\/gemini-9 is not found/);
});

test("[C7] limits, quota, faults, refusals: each with its code and its wait", async (context) => {
  const { fake, provider } = await wired(context);
  const cases: [reply.FakeReply, ErrorCode, number | null][] = [
    [reply.rateLimited("7.5s"), "provider_rate_limited", 7_500],
    [reply.quotaExhausted(), "provider_quota_exhausted", 36_000],
    [{ ...reply.rateLimited(), headers: { "retry-after": "3" } }, "provider_rate_limited", 3_000],
    [refusedWith(reply.overloaded()), "provider_unavailable", null],
    [{ output: [], error: reply.overloaded() }, "provider_unavailable", null],
    [reply.contextTooLong(), "context_window_exceeded", null],
    [{ output: [], blockReason: "SAFETY" }, "provider_refused_content", null],
    [{ output: [], finishReason: "RECITATION" }, "provider_refused_content", null],
    [{ status: 502, body: "<html>bad gateway</html>" }, "provider_unavailable", null],
  ];
  for (const [answer, code, wait] of cases) {
    fake.next(answer);
    const failed = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), code, apiKey);
    assert.equal(failed.retryAfterMs, wait, code);
  }
});

test("[C7] a stream that is cut anywhere before its finish reason is a failure that keeps what came", async (context) => {
  const { fake, provider } = await wired(context);
  const output = [{ type: "text" as const, text: "one two three" }];
  for (const how of ["end", "reset"] as const) {
    for (const afterEvents of [0, 1, 2, 3]) {
      fake.next({ output, cut: { afterEvents, how } });
      const events = await eventsOf(provider, callOf([userInstruction("a")]));
      failureIn(events, "provider_stream_cut", apiKey);
      const deltas = events.filter((event) => event.type === "text_delta").length;
      // With the connection `fetch` also drops what it had and we had not read.
      assert.ok(
        how === "end" ? deltas === afterEvents : deltas <= afterEvents,
        `${how} after ${afterEvents}: ${deltas}`,
      );
    }
  }
  fake.next({ output, finishReason: null });
  failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_stream_cut", apiKey);
});

test("[C7] a body that is not an answer is distinguished from an answer that was cut", async (context) => {
  const { fake, provider } = await wired(context);
  const stream = "text/event-stream";
  const cases: [body: string, type: string, code: ErrorCode][] = [
    ["<html>It works!</html>", "text/html", "provider_answer_invalid"],
    ['[{"candidates":[]}]', "application/json", "provider_answer_invalid"],
    ["data: no json\n\n", stream, "provider_answer_invalid"],
    ["", stream, "provider_stream_cut"],
    ["data: {}\n\n", stream, "provider_stream_cut"],
  ];
  for (const [body, type, code] of cases) {
    fake.next({ status: 200, headers: { "content-type": type }, body });
    const events = await eventsOf(provider, callOf([userInstruction("a")]));
    failureIn(events, code, apiKey);
    assert.equal(receivedText(events), body);
  }
});

test("[T10] an abort closes the connection, and silence is given up", patience, async (context) => {
  const { fake, provider } = await wired(context, { idleMs: 40 });
  const released = Promise.withResolvers<void>();
  context.after(() => released.resolve());
  const abort = new AbortController();
  fake.next({ silentUntil: released.promise });
  const events = eventsOf(provider, callOf([userInstruction("a")]), abort.signal);
  const { ended } = await fake.request(1);
  abort.abort();
  failureIn(await events, "interrupted", apiKey);
  assert.equal(await ended, "left");
  fake.next({ output: [{ type: "text", text: "one two" }], hold: { afterEvents: 1, until: released.promise } });
  failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_stream_cut", apiKey);
});
