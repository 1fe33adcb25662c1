import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import { answerChunks } from "../../../testing/fake-compatible/answer-chunks.ts";
import type { FakeAnswer } from "../../../testing/fake-compatible/replies.ts";
import { itemsOf } from "../../../testing/provider-exchange.ts";
import {
  assertNoiseNeverFinishes,
  assertSameInAnyPieces,
  bytesOf,
  eventBytes,
  readAnswer,
} from "../../../testing/provider-wire.ts";
import type { HistoryItem } from "../../domain/history.ts";
import { eventOrderFault } from "../event-order.ts";
import type { ProviderEvent } from "../provider.ts";
import { compatibleAnswers } from "./stream-reader.ts";
import type { CompatibleChunkInput } from "./wire.ts";

/** Compiles only while every chunk that OpenAI's types allow fits what is read here. */
export const asRead = (chunk: ChatCompletionChunk): CompatibleChunkInput => chunk;

const request = { model: "qwen3:8b", body: '{"messages":[{"role":"user","content":"hi"}]}' };

/** An answer as the bytes of its stream. */
function wireBytes(answer: FakeAnswer): Uint8Array {
  let calls = 0;
  const newCallId = (): string => `call_${(calls += 1)}`;
  const body = { model: "qwen3:8b", messages: [], stream_options: { include_usage: true } };
  return bytesOf(answerChunks(answer, { id: "chatcmpl_1", newCallId, body }).join(""));
}

const delta = (fields: object, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta: fields, finish_reason }],
});

const source = { wire: compatibleAnswers, providerName: "local", request };

/** All events of an answer, the terminal one last, after a check of the order that the contract requires. */
function answered(...pieces: readonly Uint8Array[]): ProviderEvent[] {
  const events = readAnswer(source, pieces);
  assert.equal(eventOrderFault([{ type: "bytes", bytes: Uint8Array.of(0) }, ...events]), null);
  return events;
}

function failureOf(events: readonly ProviderEvent[]): string {
  const last = events.at(-1);
  assert.ok(last?.type === "failed", JSON.stringify(last));
  return last.failure.code;
}

const rich: FakeAnswer = {
  output: [
    { type: "reasoning", text: "First thought." },
    { type: "text", text: "Größe 😀 ok" },
    { type: "call", name: "look-up", arguments: '{"a": "é"}', id: "call_a" },
    { type: "call", name: "look-up", arguments: "{}", id: "call_b" },
  ],
  calls: "mixed",
};

test("[V1] [C5] every kind of item comes in deltas, then whole; pieces of calls may alternate", () => {
  const events = answered(wireBytes(rich));
  const call = (callId: string, args: string): HistoryItem => ({
    type: "tool_call",
    callId,
    name: "look-up",
    arguments: args,
  });
  const last = events.at(-1);
  assert.ok(last?.type === "finished");
  assert.deepEqual(events, [
    { type: "started", responseId: null },
    { type: "reasoning_delta", itemId: "reasoning_1", delta: "First " },
    { type: "reasoning_delta", itemId: "reasoning_1", delta: "thought." },
    {
      type: "item",
      itemId: "reasoning_1",
      item: {
        type: "reasoning",
        provider: "local",
        model: "qwen3:8b",
        text: "First thought.",
        opaque: { field: "reasoning_content" },
      },
    },
    { type: "text_delta", itemId: "text_2", delta: "Größe " },
    { type: "text_delta", itemId: "text_2", delta: "😀 " },
    { type: "text_delta", itemId: "text_2", delta: "ok" },
    { type: "item", itemId: "text_2", item: { type: "assistant", text: "Größe 😀 ok" } },
    { type: "tool_call_started", callId: "call_a", name: "look-up" },
    { type: "tool_call_started", callId: "call_b", name: "look-up" },
    { type: "tool_call_delta", callId: "call_a", delta: '{"a": ' },
    { type: "tool_call_delta", callId: "call_b", delta: "{}" },
    { type: "tool_call_delta", callId: "call_a", delta: '"é"}' },
    { type: "item", itemId: "call_a", item: call("call_a", '{"a": "é"}') },
    { type: "item", itemId: "call_b", item: call("call_b", "{}") },
    { type: "finished", stopReason: "tool_calls", usage: last.usage, responseId: null, model: "qwen3:8b" },
  ]);
  const { input, cached, output, reasoning, total } = last.usage;
  assert.ok(input > 0 && cached <= input && reasoning > 0 && reasoning < output && total === input + output);
});

test("[D3] wherever the network cuts the bytes, the events are the same", () => {
  assertSameInAnyPieces(source, wireBytes(rich));
});

const manners: Partial<FakeAnswer>[] = [
  {},
  { calls: "mixed" },
  { calls: "whole" },
  { calls: "together" },
  { calls: "repeated" },
  { calls: "whole", numbers: "zero" },
  { calls: "whole", numbers: "none" },
  { calls: "together", numbers: "zero" },
  { calls: "together", numbers: "none" },
  { calls: "repeated", numbers: "zero" },
  { calls: "repeated", numbers: "none" },
  { calls: "pieces", numbers: "none" },
];

test("[T8] however a server writes its calls, and with or without ids, they are the same", () => {
  const calls = [
    ["look-up", '{"a": "x y"}'],
    ["look-up", '{"a": 2}'],
    ["write", "{}"],
  ] as const;
  for (const manner of manners) {
    for (const ids of ["given", "none"]) {
      const output = calls.map(([name, args], index) => {
        return { type: "call" as const, name, arguments: args, id: ids === "given" ? `id_${index}` : null };
      });
      const items = itemsOf(answered(wireBytes({ output, ...manner })));
      const label = JSON.stringify([manner, ids]);
      assert.deepEqual(
        items.map((item) => (item.type === "tool_call" ? [item.name, item.arguments] : [])),
        calls.map((call) => [...call]),
        label,
      );
      const callIds = items.map((item) => (item.type === "tool_call" ? item.callId : ""));
      if (ids === "given") assert.deepEqual(callIds, ["id_0", "id_1", "id_2"], label);
      else assert.equal(new Set(callIds).size, 3, label);
    }
  }
});

test("[T8] a long call whose name comes with every piece is read in time that grows with its length", () => {
  const args = JSON.stringify({ path: "a.ts", content: "x".repeat(600_000) });
  const pieces = args.match(/.{1,10}/g) ?? [];
  const deltas = pieces.map((piece) => delta({ tool_calls: [{ function: { name: "write", arguments: piece } }] }));
  const begun = process.cpuUsage();
  const items = itemsOf(answered(eventBytes(...deltas, delta({}, "tool_calls"))));
  const { user } = process.cpuUsage(begun);
  assert.deepEqual(
    items.map((item) => (item.type === "tool_call" ? item.arguments : "")),
    [args],
  );
  assert.ok(user < 6_000_000, `it took ${user / 1e6} s`);
});

test("[T8] ids that the server repeats or leaves out are generated: the same for the same request", () => {
  const output = [
    { type: "call" as const, name: "a", arguments: "{}", id: "content" },
    { type: "call" as const, name: "a", arguments: "{}", id: null },
  ];
  const idsOf = (): string[] =>
    itemsOf(answered(wireBytes({ output }))).map((item) => (item as { callId: string }).callId);
  assert.ok(idsOf().every((id) => /^call_[0-9a-f]{24}$/.test(id)));
  assert.deepEqual(idsOf(), idsOf());
});

test("a call whose arguments come as an object, before its name, or not at all, is whole", () => {
  const piece = (fields: object, named: object): object => delta({ tool_calls: [{ ...fields, function: named }] });
  const events = answered(
    eventBytes(
      piece({ index: 0, id: "c1" }, { name: "f", arguments: { a: 1 } }),
      piece({ index: 1, id: "c2" }, { arguments: '{"b":' }),
      piece({ index: 1 }, { name: "g", arguments: "2}" }),
      piece({ index: 2, id: "c3" }, { name: "h" }),
      delta({}, "stop"),
    ),
  );
  assert.deepEqual(itemsOf(events), [
    { type: "tool_call", callId: "c1", name: "f", arguments: '{"a":1}' },
    { type: "tool_call", callId: "c2", name: "g", arguments: '{"b":2}' },
    { type: "tool_call", callId: "c3", name: "h", arguments: "{}" },
  ]);
  const last = events.at(-1);
  assert.equal(last?.type === "finished" && last.stopReason, "tool_calls");
});

test("text, thoughts and calls in any order become items in that order", () => {
  const call = { tool_calls: [{ index: 0, id: "c1", function: { name: "f", arguments: "{}" } }] };
  const events = answered(
    eventBytes(
      delta({ content: "a" }),
      delta({ reasoning: "b" }),
      delta(call),
      delta({ content: "c" }),
      delta({ reasoning_content: "d", reasoning: "d", content: "e" }),
      delta({}, "tool_calls"),
    ),
  );
  assert.deepEqual(
    itemsOf(events).map((item) => ("text" in item ? item.text : item.type)),
    ["a", "b", "tool_call", "c", "d", "e"],
  );
});

test("[T10] what the length limit cut is given as far as it came, except a call that cannot be run", () => {
  const output: FakeAnswer["output"] = [
    { type: "text", text: "half a sen" },
    { type: "call", name: "f", arguments: '{"a": 1}' },
    { type: "call", name: "f", arguments: '{"a": ' },
  ];
  const events = answered(wireBytes({ output, finishReason: "length" }));
  assert.deepEqual(
    itemsOf(events).map((item) => (item.type === "tool_call" ? item.arguments : item.type)),
    ["assistant", '{"a": 1}'],
  );
  const last = events.at(-1);
  assert.equal(last?.type === "finished" && last.stopReason, "length");
});

test("[C7] how an answer ends decides what it is", () => {
  const endOf = (fields: object, reason: string): string => {
    const last = answered(eventBytes(delta(fields), delta({}, reason))).at(-1);
    return last?.type === "finished" ? last.stopReason : failureOf([last as ProviderEvent]);
  };
  const text = { content: "a" };
  for (const reason of ["stop", "eos_token", "stop_sequence", "tool_calls", "function_call"]) {
    assert.equal(endOf(text, reason), "stop");
  }
  for (const reason of ["length", "model_length"]) assert.equal(endOf(text, reason), "length");
  assert.equal(endOf(text, "content_filter"), "content_filter");
  assert.equal(endOf({}, "content_filter"), "provider_refused_content");
  assert.equal(endOf({ refusal: "I will not" }, "stop"), "provider_refused_content");
  for (const reason of ["abort", "error", "whatever"]) assert.equal(endOf(text, reason), "provider_stream_cut");
  assert.equal(endOf({ tool_calls: [{ index: 0, id: "c1" }] }, "tool_calls"), "provider_answer_invalid");
});

test("[C7] an error in the place of a chunk ends the answer, and unknown chunks are skipped", () => {
  const failing = (error: unknown): string => failureOf(answered(eventBytes(delta({ content: "a" }), { error })));
  assert.equal(failing({ message: "out of memory" }), "provider_unavailable");
  assert.equal(failing("exceeds the available context size"), "context_window_exceeded");
  const events = answered(
    eventBytes({}, { type: "ping" }, { choices: [] }, { choices: [{}] }, delta({ content: "a" }, "stop")),
  );
  assert.equal(events.at(-1)?.type, "finished");
});

test("[C7] after the finish reason only the usage is read", () => {
  const usage = { prompt_tokens: 7 };
  const events = answered(
    eventBytes(delta({ content: "a" }, "stop"), delta({ content: "late" }), { error: "late" }, { choices: [], usage }),
    bytesOf("data: no json\n\ndata: [DONE]\n\n"),
  );
  assert.deepEqual(itemsOf(events), [{ type: "assistant", text: "a" }]);
  const last = events.at(-1);
  assert.ok(last?.type === "finished");
  assert.deepEqual(last.usage, { input: 7, output: 0, cached: 0, reasoning: 0, total: 7 });
});

test("[T4] counts that no answer can have are like none: the usage is estimated", () => {
  const counts = [1.5, -1, 1e300, 1e12];
  for (const wrong of [...counts.map((prompt_tokens) => ({ prompt_tokens })), { prompt_tokens: 7, total_tokens: -7 }]) {
    const last = answered(eventBytes(delta({ content: "a" }, "stop"), { choices: [], usage: wrong })).at(-1);
    assert.ok(last?.type === "finished" && last.isUsageEstimated === true, JSON.stringify([wrong, last]));
    assert.equal(last.usage.input, Math.ceil(request.body.length / 4));
  }
});

test("usage that the server does not send is estimated, and marked as an estimate", () => {
  const [...events] = answered(wireBytes({ ...rich, usage: null }));
  const last = events.at(-1);
  assert.ok(last?.type === "finished" && last.isUsageEstimated === true);
  assert.equal(last.usage.input, Math.ceil(request.body.length / 4));
  assert.ok(last.usage.output > last.usage.reasoning && last.usage.reasoning > 0);
  const reported = answered(wireBytes(rich)).at(-1);
  assert.ok(reported?.type === "finished" && !("isUsageEstimated" in reported));
});

test("[C7] no bytes make the reader throw, or finish an answer that has not ended", () => {
  assertNoiseNeverFinishes(source, [
    "data: ",
    "\n\n",
    "[]",
    "null",
    "{",
    "}",
    '{"choices":',
    '[{"delta":{"content":"a"}}]',
    "[DONE]",
    "😀",
  ]);
});
