/** The driver on the real wire, against the strict fake. */
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { test, type TestContext } from "node:test";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import { type FakeOpenAI, startFakeOpenai } from "../../../testing/fake-openai/fake-openai.ts";
import * as reply from "../../../testing/fake-openai/replies.ts";
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
import type { Provider, ProviderEvent } from "../provider.ts";
import { type OpenAIOptions, openaiProvider } from "./openai.ts";

const apiKey = "sk-test-0123456789";
const never = new AbortController().signal;
const callOf = callsTo("gpt-5.1", { tools: [lookTool], store: true });
const patience = { timeout: 10_000 };

interface Wire {
  fake: FakeOpenAI;
  provider: Provider;
}

async function wired(context: TestContext, options: Partial<OpenAIOptions> = {}): Promise<Wire> {
  const fake = closedAfter(context, await startFakeOpenai({ apiKey }));
  return { fake, provider: openaiProvider({ apiKey, baseUrl: fake.url, model: "gpt-5.1", ...options }) };
}

function responseIdOf(events: readonly ProviderEvent[]): string {
  const last = events.at(-1);
  assert.ok(last?.type === "finished" && last.responseId !== null, JSON.stringify(last));
  return last.responseId;
}

/** What an input says, whichever way it is written. */
function plain(items: readonly ResponseInputItem[]): unknown[] {
  return items.map((item) => {
    switch (item.type) {
      case "reasoning":
        return ["reasoning", item.encrypted_content];
      case "function_call":
        return ["call", item.call_id, item.name, item.arguments];
      case "function_call_output":
        return ["result", item.call_id, item.output];
      case "message":
      case undefined:
        return "role" in item ? [item.role, contentOf(item.content)] : item;
      default:
        return item;
    }
  });
}

function contentOf(content: string | readonly object[]): string {
  if (typeof content === "string") return content;
  return content.map((part) => ("text" in part ? String(part.text) : "")).join("|");
}

test("[C1] [E1] a chain and a replay give the model the same history", async (context) => {
  const { fake, provider } = await wired(context);
  const answers: reply.FakeReply[] = [
    {
      output: [
        { type: "reasoning", summary: ["hm"] },
        { type: "function_call", name: "look", arguments: '{"at":"a"}' },
      ],
    },
    { output: [{ type: "message", text: "there", phase: "final_answer" }] },
    "again",
  ];
  fake.next(...answers);
  const first = await eventsOf(provider, callOf([userInstruction("where?")]));
  const [, call] = itemsOf(first);
  assert.ok(call?.type === "tool_call");
  const result: HistoryItem = { type: "tool_result", callId: call.callId, output: "here" };
  const chained = { prompt: null };
  const second = await eventsOf(provider, callOf([result], { ...chained, previousResponseId: responseIdOf(first) }));
  await eventsOf(
    provider,
    callOf([userInstruction("sure?")], { ...chained, previousResponseId: responseIdOf(second) }),
  );
  const history = [userInstruction("where?"), ...itemsOf(first), result, ...itemsOf(second), userInstruction("sure?")];
  await eventsOf(provider, callOf(history, { store: false }));
  const [, , inChain, inReplay] = fake.requests;
  assert.ok(inChain?.assembled && inReplay?.assembled);
  assert.deepEqual(plain(inReplay.assembled), plain(inChain.assembled));
  assert.equal(inReplay.assembled.length, 7);
});

test("[D3] [E7] the prepared bytes are those on the wire, and the answer's bytes come back whole", async (context) => {
  const { fake, provider } = await wired(context);
  const request = provider.prepare(callOf([userInstruction("größe 😀 \u2028")]));
  await Array.fromAsync(provider.send(request, never));
  assert.equal(fake.requests[0]?.raw.toString("utf8"), request.body);
  const wire =
    'event: response.created\ndata: {"type":"response.created","response":{"id":"r","model":"m"}}\n\n' +
    ': a comment\r\n\r\ndata: {"type":"response.completed","response":{"id":"r","model":"m"}}\n\ndata: [DONE]\n\n';
  fake.next({ status: 200, headers: { "content-type": "text/event-stream" }, body: wire });
  const events = await eventsOf(provider, callOf([userInstruction("a")]));
  assert.equal(receivedText(events), wire);
  responseIdOf(events);
});

test("[E8] the key is sent as a header and is nowhere else", async (context) => {
  const { fake, provider } = await wired(context, {
    organization: "org-1",
    headers: { "openai-project": "proj_1", authorization: "Bearer other" },
  });
  const request = provider.prepare(callOf([userInstruction("a")]));
  const events = await Array.fromAsync(provider.send(request, never));
  const [got] = fake.requests;
  assert.equal(got?.headers.authorization, `Bearer ${apiKey}`);
  assert.equal(got.headers["openai-organization"], "org-1");
  assert.equal(got.headers["openai-project"], "proj_1");
  assert.ok(!JSON.stringify([request, events, provider]).includes(apiKey));
});

test("[E8] an error that quotes secrets is given without them", async (context) => {
  const project = "proj_secret_1";
  const { fake, provider } = await wired(context, { headers: { "openai-project": project } });
  fake.next({ status: 400, body: { error: { message: `bad key ${apiKey} of ${project}` } } });
  const { failure } = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_rejected", apiKey);
  assert.equal(failure.message, "openai: bad key [secret] of [secret] (HTTP 400)");
  const wrongKey = openaiProvider({ apiKey: "sk-wrong-98765432", baseUrl: fake.url, model: "m" });
  const refused = failureIn(
    await eventsOf(wrongKey, callOf([userInstruction("a")])),
    "provider_unauthenticated",
    apiKey,
  );
  assert.ok(!/sk-wr|5432/.test(refused.failure.message), refused.failure.message);
});

test("[C3] a forgotten chain is known in each of its forms", async (context) => {
  const { fake, provider } = await wired(context);
  const id = responseIdOf(await eventsOf(provider, callOf([userInstruction("a")])));
  fake.forget([id]);
  for (const form of ["code", "not_found", "terse"] as const) {
    fake.forgottenForm = form;
    const events = await eventsOf(provider, callOf([userInstruction("b")], { prompt: null, previousResponseId: id }));
    assert.equal(failureIn(events, "chain_forgotten", apiKey).failure.retryable, false);
    assert.notEqual(receivedText(events), "");
  }
});

test("[C7] rate limits, quota, faults, refusals: each with its code and its wait", async (context) => {
  const { fake, provider } = await wired(context);
  const cases: [reply.FakeReply, ErrorCode, number | null][] = [
    [reply.rateLimited("7"), "provider_rate_limited", 7_000],
    [reply.rateLimited(), "provider_rate_limited", null],
    [reply.quotaExhausted(), "provider_quota_exhausted", null],
    [reply.serverFault(), "provider_unavailable", null],
    [reply.serverFault(503), "provider_unavailable", null],
    [reply.contextTooLong(), "context_window_exceeded", null],
    [reply.contentRefused(), "provider_refused_content", null],
    [{ status: 502, body: "<html>bad gateway</html>" }, "provider_unavailable", null],
    [{ status: 302, headers: { location: "http://127.0.0.1:1/" }, body: "" }, "provider_rejected", null],
  ];
  for (const [answer, code, wait] of cases) {
    fake.next(answer);
    const failed = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), code, apiKey);
    assert.equal(failed.retryAfterMs, wait);
  }
  fake.next(reply.rateLimited("90"));
  const long = failureIn(await eventsOf(provider, callOf([userInstruction("a")])), "provider_rate_limited", apiKey);
  assert.match(long.failure.message, /it asks to wait 90 s/);
});

test("[C7] how a response ends decides what it is", async (context) => {
  const { fake, provider } = await wired(context);
  const text = { type: "message" as const, text: "one two" };
  const ended = async (answer: reply.FakeAnswer): Promise<string> => {
    fake.next(answer);
    const last = (await eventsOf(provider, callOf([userInstruction("a")]))).at(-1);
    if (last?.type === "finished") return last.stopReason;
    return last?.type === "failed" ? last.failure.code : "";
  };
  const cut = (reason: "max_output_tokens" | "content_filter") => ({ status: "incomplete" as const, reason });
  const failing = (status: "failed" | "error", code: string) => ({ status, code, message: "it says so" });
  assert.equal(await ended({ output: [text] }), "stop");
  assert.equal(await ended({ output: [text], ending: cut("max_output_tokens") }), "length");
  assert.equal(await ended({ output: [text], ending: cut("content_filter") }), "content_filter");
  assert.equal(await ended({ output: [], ending: cut("content_filter") }), "provider_refused_content");
  assert.equal(await ended({ output: [{ type: "refusal", text: "I will not" }] }), "provider_refused_content");
  assert.equal(await ended({ output: [text], ending: failing("failed", "server_error") }), "provider_unavailable");
  assert.equal(await ended({ output: [text], ending: failing("failed", "bio_policy") }), "provider_refused_content");
  assert.equal(
    await ended({ output: [text], ending: failing("error", "rate_limit_exceeded") }),
    "provider_rate_limited",
  );
});

test("[C7] a stream that is cut anywhere is a failure that keeps what came", async (context) => {
  const { fake, provider } = await wired(context);
  const output = [{ type: "message" as const, text: "one two three" }];
  for (const how of ["end", "reset"] as const) {
    for (const afterEvents of [0, 1, 2, 3, 5, 8, 10]) {
      fake.next({ output, cut: { afterEvents, how } });
      const events = await eventsOf(provider, callOf([userInstruction("a")]));
      failureIn(events, "provider_stream_cut", apiKey);
      const deltas = events.filter((event) => event.type === "text_delta").length;
      const sent = Math.min(3, Math.max(0, afterEvents - 4));
      // With the connection `fetch` also drops what it had and we had not read.
      assert.ok(how === "end" ? deltas === sent : deltas <= sent, `${how} after ${afterEvents}: ${deltas}`);
    }
  }
});

test("[C7] a body that is not an answer is distinguished from an answer that was cut", async (context) => {
  const { fake, provider } = await wired(context);
  const stream = "text/event-stream; charset=utf-8";
  const cases: [body: string, type: string, code: ErrorCode][] = [
    ["<html>It works!</html>", "text/html", "provider_answer_invalid"],
    ["<html>It works!</html>", stream, "provider_answer_invalid"],
    ['{"id":"resp_1","object":"response","output":[]}', "application/json", "provider_answer_invalid"],
    ["data: no json\n\n", stream, "provider_answer_invalid"],
    ['data: {"type":"response.output_text.delta"}\n\n', stream, "provider_answer_invalid"],
    ["\u0000\u0001\u0002", stream, "provider_answer_invalid"],
    ["", stream, "provider_stream_cut"],
    ["eve", stream, "provider_stream_cut"],
    [": waiting\n\n", stream, "provider_stream_cut"],
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
  const output = [{ type: "message" as const, text: "one two" }];
  fake.next({ output, hold: { afterEvents: 5, until: released.promise } });
  const events = await eventsOf(provider, callOf([userInstruction("a")]));
  failureIn(events, "provider_stream_cut", apiKey);
  assert.equal(events.filter((event) => event.type === "text_delta").length, 1);
});

test("[C7] a slow stream is not given up while it moves, nor for a slow reader", patience, async (context) => {
  const { fake, provider } = await wired(context, { idleMs: 600 });
  fake.eventDelayMs = 60;
  const text = "a b c d e f g h";
  fake.next(text);
  const request = provider.prepare(callOf([userInstruction("a")]));
  const events: ProviderEvent[] = [];
  for await (const event of provider.send(request, never)) {
    // The reader's own time must not count.
    if (events.push(event) === 3) await new Promise((resolve) => setTimeout(resolve, 700));
  }
  assert.equal(answerText(itemsOf(events)), text);
  assert.equal(events.at(-1)?.type, "finished");
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

test(
  "[C7] an answer is whole once its terminal event is there, whatever the connection does then",
  patience,
  async (context) => {
    const end = 'data: {"type":"response.completed","response":{"id":"r","model":"m"}}\n\n';
    const endings: RequestListener[] = [
      (_request, response) => response.write(end, () => response.socket?.destroySoon()),
      (_request, response) => response.write(end),
      (_request, response) => {
        response.write(end);
        const more = setInterval(() => response.write(": more\n\n"), 20);
        response.once("close", () => clearInterval(more));
      },
    ];
    for (const listener of endings) {
      const url = await serverWith(context, (request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        listener(request, response);
      });
      const events = await eventsOf(
        openaiProvider({ apiKey, baseUrl: `${url}/v1`, model: "m" }),
        callOf([userInstruction("a")]),
      );
      assert.equal(events.at(-1)?.type, "finished");
    }
  },
);

test("[C7] an error whose body never ends is given up by its size", patience, async (context) => {
  const url = await serverWith(context, (_request, response) => {
    response.writeHead(500);
    const more = (): void => {
      while (response.write("x".repeat(65_536)));
      response.once("drain", more);
    };
    more();
  });
  const events = await eventsOf(
    openaiProvider({ apiKey, baseUrl: `${url}/v1`, model: "m" }),
    callOf([userInstruction("a")]),
  );
  failureIn(events, "provider_unavailable", apiKey);
});

test("what `fetch` itself throws is a failed event", async () => {
  const broken = (() => Promise.reject(new TypeError(`cannot send Bearer ${apiKey}`))) as typeof fetch;
  const provider = openaiProvider({ apiKey, model: "m", fetch: broken });
  const { failure } = failureIn(
    await eventsOf(provider, callOf([userInstruction("a")])),
    "provider_unavailable",
    apiKey,
  );
  assert.equal(failure.message, "openai: cannot send Bearer [secret]");
});

test("[C7] a connection that is cut is named in words, with its code", async (t) => {
  for (const [code, words] of [
    ["ECONNRESET", /^openai: the connection was cut \(ECONNRESET\)$/],
    ["EOTHER", /^openai: aborted \(EOTHER\)$/],
  ] as const) {
    const provider = openaiProvider({
      apiKey: "sk-1",
      model: "gpt-5.1",
      fetch: () => Promise.reject(Object.assign(new Error("aborted"), { code })),
    });
    const call = { model: "gpt-5.1", prompt: null, items: [], store: false, settings: {}, tools: [], toolChoice: null };
    const request = provider.prepare({ ...call, allowedTools: null, previousResponseId: null });
    const [end] = await Array.fromAsync(provider.send(request, t.signal));
    assert.match(end?.type === "failed" ? end.failure.message : "", words);
  }
});
