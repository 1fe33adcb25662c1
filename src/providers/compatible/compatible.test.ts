/** The driver on the real wire, against the strict fake. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { type FakeCompatible, startFakeCompatible } from "../../../testing/fake-compatible/fake-compatible.ts";
import * as reply from "../../../testing/fake-compatible/replies.ts";
import { unusedAddress } from "../../../testing/fake-server/other-servers.ts";
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
import type { Provider } from "../provider.ts";
import { type CompatibleOptions, compatibleProvider } from "./compatible.ts";

const apiKey = "local-key-0123456789";
const never = new AbortController().signal;
const callOf = callsTo("qwen3:8b", { tools: [lookTool] });
const patience = { timeout: 10_000 };

interface Wire {
  fake: FakeCompatible;
  provider: Provider;
}

async function wired(context: TestContext, options: Partial<CompatibleOptions> = {}): Promise<Wire> {
  const fake = closedAfter(context, await startFakeCompatible({ apiKey, models: ["qwen3:8b"] }));
  return {
    fake,
    provider: compatibleProvider({ name: "local", apiKey, baseUrl: fake.url, model: "qwen3:8b", ...options }),
  };
}

test("[C1] [T8] a whole conversation with tools is taken, and the model sees all of it", async (context) => {
  const { fake, provider } = await wired(context);
  fake.next(
    {
      output: [
        { type: "reasoning", text: "hm", field: "reasoning" },
        { type: "call", name: "look", arguments: '{"at":"a"}', id: null },
        { type: "call", name: "look", arguments: "" },
      ],
      calls: "whole",
    },
    { output: [{ type: "call", name: "look", arguments: '{"at":"b"}', id: "call_0" }] },
    { output: [{ type: "call", name: "look", arguments: '{"at":"c"}', id: "call_0" }] },
    "there",
  );
  const history = [userInstruction("where?")];
  for (let calls = 3; calls > 0;) {
    const items = itemsOf(await eventsOf(provider, callOf(history)));
    const results = items.flatMap((item): HistoryItem[] =>
      item.type === "tool_call" ? [{ type: "tool_result", callId: item.callId, output: "here" }] : [],
    );
    history.push(...items, ...results);
    calls = results.length;
  }
  assert.deepEqual(
    fake.requests.map(({ refusal }) => refusal),
    [null, null, null, null],
  );
  const seen = fake.requests.at(-1)?.body?.messages.map((message) => message.role);
  const step = ["assistant", "tool"];
  assert.deepEqual(seen, ["system", "user", "assistant", "tool", "tool", ...step, ...step]);
  const [, , first] = fake.requests.at(-1)?.body?.messages ?? [];
  assert.ok(first?.role === "assistant" && first.reasoning === "hm" && first.tool_calls?.length === 2);
});

test("[D3] [E7] the prepared bytes are those on the wire, and the answer's bytes come back whole", async (context) => {
  const { fake, provider } = await wired(context);
  const request = provider.prepare(callOf([userInstruction("größe 😀 \u2028")]));
  await Array.fromAsync(provider.send(request, never));
  assert.equal(fake.requests[0]?.raw.toString("utf8"), request.body);
  const wire =
    ': a comment\r\n\r\ndata: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n' +
    'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}\n\ndata: [DONE]\n\n';
  fake.next({ status: 200, headers: { "content-type": "text/event-stream" }, body: wire });
  const events = await eventsOf(provider, callOf([userInstruction("a")]));
  assert.equal(receivedText(events), wire);
  const last = events.at(-1);
  assert.equal(last?.type === "finished" && last.usage.total, 8);
});

test("[E8] the key is sent as a header and is nowhere else; without one none is sent", async (context) => {
  const { fake, provider } = await wired(context, { headers: { "x-team": "team-secret-1" } });
  const request = provider.prepare(callOf([userInstruction("a")]));
  const events = await Array.fromAsync(provider.send(request, never));
  const [got] = fake.requests;
  assert.equal(got?.headers.authorization, `Bearer ${apiKey}`);
  assert.equal(got.headers["x-team"], "team-secret-1");
  assert.ok(!/local-key|team-secret/.test(JSON.stringify([request, events, provider])));
  const open = compatibleProvider({ name: "local", baseUrl: fake.url, model: "qwen3:8b" });
  const refused = failureIn(await eventsOf(open, callOf([userInstruction("a")])), "provider_unauthenticated", apiKey);
  assert.match(refused.failure.message, /none is configured/);
  assert.ok(fake.requests[1] !== undefined && !("authorization" in fake.requests[1].headers));
  fake.next({ status: 400, body: `bad key ${apiKey} of team-secret-1` });
  const { failure } = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_rejected", apiKey);
  assert.equal(failure.message, "local: bad key [secret] of [secret] (HTTP 400)");
});

test("[C7] a missing model, a wrong path and an unreachable server: each failure says what to do", async (context) => {
  const { fake, provider } = await wired(context);
  const missing = failureIn(
    await eventsOf(provider, callOf([userInstruction("a")], { model: "llama4" })),
    "provider_rejected",
    apiKey,
  );
  assert.match(missing.failure.message, /model "llama4" not found.*ollama pull llama4/);
  const wrongPath = compatibleProvider({ name: "local", apiKey, baseUrl: fake.url.replace("/v1", ""), model: "m" });
  const lost = failureIn(await eventsOf(wrongPath, callOf([userInstruction("a")])), "provider_rejected", apiKey);
  assert.match(lost.failure.message, /404 page not found; is the base URL right\?/);
  const baseUrl = `${await unusedAddress()}/v1`;
  const away = compatibleProvider({ name: "local", apiKey, baseUrl, model: "m" });
  const unreached = failureIn(await eventsOf(away, callOf([userInstruction("a")])), "provider_unavailable", apiKey);
  assert.ok(unreached.failure.message.includes("ECONNREFUSED"));
  assert.ok(
    unreached.failure.message.endsWith(`is the server running, and is ${baseUrl} its address? (Ollama: ollama serve)`),
  );
});

test("[C7] rate limits, faults, refusals: each with its code and its wait", async (context) => {
  const { fake, provider } = await wired(context);
  const cases: [reply.FakeReply, ErrorCode, number | null][] = [
    [reply.rateLimited("7"), "provider_rate_limited", 7_000],
    [reply.rateLimited(), "provider_rate_limited", null],
    [reply.contextTooLong(), "context_window_exceeded", null],
    [reply.modelLoading(), "provider_unavailable", null],
    [{ status: 502, body: "<html>bad gateway</html>" }, "provider_unavailable", null],
    [{ status: 302, headers: { location: "http://127.0.0.1:1/" }, body: "" }, "provider_rejected", null],
    [{ output: [], error: { message: "CUDA out of memory" } }, "provider_unavailable", null],
  ];
  for (const [answer, code, wait] of cases) {
    fake.next(answer);
    const failed = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), code, apiKey);
    assert.equal(failed.retryAfterMs, wait);
  }
});

test("[C7] a stream that is cut anywhere before its finish reason is a failure that keeps what came", async (context) => {
  const { fake, provider } = await wired(context);
  const output = [{ type: "text" as const, text: "one two three" }];
  for (const how of ["end", "reset"] as const) {
    for (const afterEvents of [0, 1, 2, 3, 4]) {
      fake.next({ output, cut: { afterEvents, how } });
      const events = await eventsOf(provider, callOf([userInstruction("a")]));
      failureIn(events, "provider_stream_cut", apiKey);
      const deltas = events.filter((event) => event.type === "text_delta").length;
      const sent = Math.max(0, afterEvents - 1);
      // With the connection `fetch` also drops what it had and we had not read.
      assert.ok(how === "end" ? deltas === sent : deltas <= sent, `${how} after ${afterEvents}: ${deltas}`);
    }
  }
  fake.next({ output, finishReason: null });
  failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_stream_cut", apiKey);
});

test("[C7] a stream is whole with its finish reason, also without usage and [DONE]", patience, async (context) => {
  const { fake, provider } = await wired(context);
  const output = [{ type: "text" as const, text: "one two three" }];
  const released = Promise.withResolvers<void>();
  context.after(() => released.resolve());
  const endings: Partial<reply.FakeAnswer>[] = [
    { usage: null, isDone: false },
    { isDone: false },
    { cut: { afterEvents: 5, how: "end" } },
    { hold: { afterEvents: 5, until: released.promise } },
  ];
  for (const ending of endings) {
    fake.next({ output, ...ending });
    const events = await eventsOf(provider, callOf([userInstruction("a")]));
    assert.equal(events.at(-1)?.type, "finished", JSON.stringify(ending));
    assert.deepEqual(itemsOf(events), [{ type: "assistant", text: "one two three" }]);
  }
});

test("[C7] a body that is not an answer is distinguished from an answer that was cut", async (context) => {
  const { fake, provider } = await wired(context);
  const stream = "text/event-stream; charset=utf-8";
  const cases: [body: string, type: string, code: ErrorCode][] = [
    ["<html>It works!</html>", "text/html", "provider_answer_invalid"],
    ['{"object":"chat.completion","choices":[]}', "application/json", "provider_answer_invalid"],
    ["data: no json\n\n", stream, "provider_answer_invalid"],
    ['data: {"choices":"none"}\n\n', stream, "provider_answer_invalid"],
    ["", stream, "provider_stream_cut"],
    ["data: [DONE]\n\n", stream, "provider_stream_cut"],
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
  fake.next({ output: [{ type: "text", text: "one two" }], hold: { afterEvents: 2, until: released.promise } });
  failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_stream_cut", apiKey);
});
