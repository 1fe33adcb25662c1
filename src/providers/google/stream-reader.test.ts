import assert from "node:assert/strict";
import { test } from "node:test";
import type { GenerateContentResponse } from "@google/genai";
import { answerChunks } from "../../../testing/fake-google/answer-chunks.ts";
import type { FakeAnswer } from "../../../testing/fake-google/replies.ts";
import { sign } from "../../../testing/fake-google/signatures.ts";
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
import { googleAnswers } from "./stream-reader.ts";
import type { GoogleChunkInput } from "./wire.ts";

type Wire = Pick<GenerateContentResponse, "candidates" | "promptFeedback" | "usageMetadata" | "modelVersion">;

/** Compiles only while everything that Google's types allow fits what is read here. */
export const asRead = (chunk: Wire): GoogleChunkInput => chunk;

const model = "gemini-3-flash";
const request = { model, body: '{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}' };

/** An answer as the bytes of its stream. */
function wireBytes(answer: FakeAnswer): Uint8Array {
  let calls = 0;
  const newCallId = (): string => `fc_${(calls += 1)}`;
  return bytesOf(answerChunks(answer, { responseId: "r", newCallId, body: { contents: [] }, model }).join(""));
}

const source = { wire: googleAnswers, providerName: "google", request };

/** All events of an answer, the terminal one last, after a check of the order that the contract requires. */
function answered(...pieces: readonly Uint8Array[]): ProviderEvent[] {
  const events = readAnswer(source, pieces);
  assert.equal(eventOrderFault([{ type: "bytes", bytes: Uint8Array.of(0) }, ...events]), null);
  return events;
}

const rich: FakeAnswer = {
  output: [
    { type: "thought", text: "First thought." },
    { type: "text", text: "Größe 😀 ok" },
    { type: "call", name: "look-up", args: { a: "é" }, id: "fc_a" },
    { type: "call", name: "look-up", args: {}, id: "fc_b" },
  ],
};

function reasoning(text: string, opaque?: object): HistoryItem {
  return { type: "reasoning", provider: "google", model, text, ...(opaque !== undefined && { opaque }) };
}

test("[V1] [C5] every kind of item comes in deltas, then whole; a signature has an item before its call", () => {
  const events = answered(wireBytes(rich));
  const call = (callId: string, args: string): HistoryItem => ({
    type: "tool_call",
    callId,
    name: "look-up",
    arguments: args,
  });
  const thoughtSignature = sign({ functionCall: { id: "fc_a", name: "look-up", args: { a: "é" } } }, model);
  const last = events.at(-1);
  assert.ok(last?.type === "finished");
  assert.deepEqual(events, [
    { type: "started", responseId: null },
    { type: "reasoning_delta", itemId: "item_1", delta: "First " },
    { type: "reasoning_delta", itemId: "item_1", delta: "thought." },
    { type: "item", itemId: "item_1", item: reasoning("First thought.") },
    { type: "text_delta", itemId: "item_2", delta: "Größe " },
    { type: "text_delta", itemId: "item_2", delta: "😀 " },
    { type: "text_delta", itemId: "item_2", delta: "ok" },
    { type: "item", itemId: "item_2", item: { type: "assistant", text: "Größe 😀 ok" } },
    { type: "item", itemId: "item_3", item: reasoning("", { signs: "call", thoughtSignature }) },
    { type: "tool_call_started", callId: "fc_a", name: "look-up" },
    { type: "tool_call_delta", callId: "fc_a", delta: '{"a":"é"}' },
    { type: "item", itemId: "fc_a", item: call("fc_a", '{"a":"é"}') },
    { type: "tool_call_started", callId: "fc_b", name: "look-up" },
    { type: "tool_call_delta", callId: "fc_b", delta: "{}" },
    { type: "item", itemId: "fc_b", item: call("fc_b", "{}") },
    { type: "finished", stopReason: "tool_calls", usage: last.usage, responseId: null, model },
  ]);
  const { input, cached, output, reasoning: thought, total } = last.usage;
  assert.ok(input > 0 && cached <= input && thought > 0 && thought < output && total === input + output);
});

test("[D3] wherever the network cuts the bytes, the events are the same", () => {
  assertSameInAnyPieces(source, wireBytes(rich));
});

test("[C5] a thought carries the signature that follows it; a text's own has an item after it", () => {
  const signatureOf = (item: HistoryItem | undefined): unknown => (item as { opaque: object }).opaque;
  const thoughtFirst = itemsOf(
    answered(
      wireBytes({
        output: [
          { type: "thought", text: "hm" },
          { type: "call", name: "f", args: {} },
        ],
      }),
    ),
  );
  assert.deepEqual(
    thoughtFirst.map((item) => item.type),
    ["reasoning", "tool_call"],
  );
  assert.equal((signatureOf(thoughtFirst[0]) as { signs: string }).signs, "call");
  const signedText = itemsOf(answered(wireBytes({ output: [{ type: "text", text: "a b", signed: true }] })));
  assert.deepEqual(signedText, [
    { type: "assistant", text: "a b" },
    reasoning("", { signs: "text", thoughtSignature: sign({ text: "b" }, model), characters: 1 }),
  ]);
  const apart = itemsOf(answered(wireBytes({ output: [{ type: "text", text: "a b", signed: "apart" }] })));
  assert.deepEqual(signatureOf(apart[1]), {
    signs: "text",
    thoughtSignature: sign({ text: "" }, model),
    characters: 0,
  });
  const thought = itemsOf(answered(wireBytes({ output: [{ type: "thought", text: "a b", signed: true }] })));
  const ofThought = sign({ text: "b", thought: true }, model);
  assert.deepEqual(thought, [reasoning("a b", { signs: "thought", thoughtSignature: ofThought, characters: 1 })]);
});

test("[T8] calls without an id, or with one that was used before, get one that is the same every time", () => {
  const output = [
    { type: "call" as const, name: "a", args: {}, id: null },
    { type: "call" as const, name: "a", args: {}, id: "contents" },
  ];
  const idsOf = (): string[] =>
    itemsOf(answered(wireBytes({ output }))).flatMap((item) => (item.type === "tool_call" ? [item.callId] : []));
  assert.ok(idsOf().every((id) => /^call_[0-9a-f]{24}$/.test(id)));
  assert.equal(new Set(idsOf()).size, 2);
  assert.deepEqual(idsOf(), idsOf());
});

const endings: [reason: string, withText: string, withoutText: string][] = [
  ["STOP", "stop", "stop"],
  ["MAX_TOKENS", "length", "length"],
  ["SAFETY", "content_filter", "provider_refused_content"],
  ["RECITATION", "content_filter", "provider_refused_content"],
  ["PROHIBITED_CONTENT", "content_filter", "provider_refused_content"],
  ["MALFORMED_FUNCTION_CALL", "provider_answer_invalid", "provider_answer_invalid"],
  ["UNEXPECTED_TOOL_CALL", "provider_answer_invalid", "provider_answer_invalid"],
  ["OTHER", "provider_stream_cut", "provider_stream_cut"],
  ["BRAND_NEW", "provider_stream_cut", "provider_stream_cut"],
];

test("[C7] how an answer ends decides what it is", () => {
  const endOf = (answer: FakeAnswer): string => {
    const last = answered(wireBytes(answer)).at(-1);
    if (last?.type === "finished") return last.stopReason;
    return last?.type === "failed" ? last.failure.code : "";
  };
  for (const [finishReason, withText, withoutText] of endings) {
    assert.equal(endOf({ output: [{ type: "text", text: "a" }], finishReason }), withText, finishReason);
    assert.equal(endOf({ output: [], finishReason }), withoutText, finishReason);
  }
  assert.equal(endOf({ output: [], blockReason: "PROHIBITED_CONTENT" }), "provider_refused_content");
});

test("[C7] a mistake of the model may be retried, a block may not, and both name the reason", () => {
  const failureOf = (answer: Partial<FakeAnswer>) => {
    const last = answered(wireBytes({ output: [], ...answer })).at(-1);
    assert.ok(last?.type === "failed" && last.usage.input > 0);
    return last.failure;
  };
  const finishMessage = "Malformed function call: print(look)";
  const malformed = failureOf({ finishReason: "MALFORMED_FUNCTION_CALL", finishMessage });
  assert.deepEqual(
    [malformed.retryable, malformed.message],
    [true, `google: ${finishMessage} (MALFORMED_FUNCTION_CALL)`],
  );
  const blocked = failureOf({ blockReason: "SAFETY" });
  assert.deepEqual([blocked.retryable, blocked.message], [false, "google: SAFETY"]);
});

test("[C7] an error in the place of a chunk, and a call without a name, end the answer", () => {
  const codeOf = (...chunks: unknown[]): string => {
    const last = answered(eventBytes(...chunks)).at(-1);
    return last?.type === "failed" ? last.failure.code : "";
  };
  assert.equal(codeOf({ error: { code: 503, status: "UNAVAILABLE", message: "overloaded" } }), "provider_unavailable");
  assert.equal(codeOf({ candidates: [{ content: { parts: [{ functionCall: {} }] } }] }), "provider_answer_invalid");
  assert.equal(codeOf({ candidates: "none" }), "provider_answer_invalid");
});

test("[C7] after the finish reason only the usage is read, and unknown chunks and parts are skipped", () => {
  const text = (delta: string, more: object = {}): object => ({
    candidates: [{ content: { parts: [{ text: delta }] }, ...more }],
  });
  const events = answered(
    eventBytes(
      {},
      { candidates: [{ content: { parts: [{ executableCode: { code: "1" } }], role: "model" } }] },
      text("a", { finishReason: "STOP" }),
      text("late"),
      { error: { code: 500 } },
      { usageMetadata: { promptTokenCount: 7, toolUsePromptTokenCount: 1, candidatesTokenCount: 2 } },
    ),
  );
  assert.deepEqual(itemsOf(events), [{ type: "assistant", text: "a" }]);
  const last = events.at(-1);
  assert.ok(last?.type === "finished" && !("isUsageEstimated" in last));
  assert.deepEqual(last.usage, { input: 8, output: 2, cached: 0, reasoning: 0, total: 10 });
});

test("usage that the provider does not send is estimated, and marked as an estimate", () => {
  const last = answered(wireBytes({ ...rich, usage: null })).at(-1);
  assert.ok(last?.type === "finished" && last.isUsageEstimated === true && last.usage.output > 0);
});

test("[C7] no bytes make the reader throw, or finish an answer that has not ended", () => {
  assertNoiseNeverFinishes(source, [
    "data: ",
    "\n\n",
    "[]",
    "null",
    "{",
    "}",
    '{"candidates":',
    '[{"content":{"parts":[{"text":"a"}]}}]',
    "😀",
  ]);
});
