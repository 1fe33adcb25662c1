import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { type AnswerFrame, streamAnswer } from "../../../testing/fake-openai/answer-stream.ts";
import type { FakeAnswer } from "../../../testing/fake-openai/replies.ts";
import {
  assertNoiseNeverFinishes,
  assertSameInAnyPieces,
  bytesOf,
  eventBytes,
  readAnswer,
} from "../../../testing/provider-wire.ts";
import type { ProviderEvent } from "../provider.ts";
import { openaiAnswers } from "./stream-reader.ts";
import type { OpenAIEventInput, OpenAIEventType } from "./wire.ts";

/** Compiles only while everything that OpenAI's types allow fits what is read here. */
export const asRead = (event: Extract<ResponseStreamEvent, { type: OpenAIEventType }>): OpenAIEventInput => event;

/** An answer as the bytes of its stream. */
function wireBytes(answer: FakeAnswer): Uint8Array {
  let ids = 0;
  const frame: AnswerFrame = {
    id: "resp_1",
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    body: { model: "gpt-5.1-2025-11-13", include: ["reasoning.encrypted_content"] },
    inputTokens: 100,
    cachedTokens: 40,
  };
  const { events } = streamAnswer(answer, frame);
  return bytesOf(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

const source = { wire: openaiAnswers, providerName: "openai", request: { model: "gpt-5.1", body: "" } };

/** All events of an answer, the terminal one last. */
function readPieces(pieces: readonly Uint8Array[]): ProviderEvent[] {
  return readAnswer(source, pieces);
}

const rich: FakeAnswer = {
  output: [
    { type: "reasoning", summary: ["First thought.", "Second."] },
    { type: "message", text: "Größe 😀 ok", phase: "commentary" },
    { type: "function_call", name: "look-up", arguments: '{"a": "é"}', callId: "call_a" },
  ],
};

test("[V1] [C5] every kind of item comes in deltas, then whole; reasoning keeps what its provider needs", () => {
  const events = readPieces([wireBytes(rich)]);
  const reasoning = events.find((event) => event.type === "item" && event.item.type === "reasoning");
  assert.ok(reasoning?.type === "item" && reasoning.item.type === "reasoning");
  const { opaque, ...kept } = reasoning.item;
  assert.deepEqual(kept, {
    type: "reasoning",
    provider: "openai",
    model: "gpt-5.1",
    text: "First thought.\n\nSecond.",
  });
  // Of the two ciphertexts on the wire, the one of the finished item.
  assert.match(String((opaque as Record<string, unknown>)["encrypted_content"]), /^fake-cipher\./);
  assert.deepEqual(
    events.filter((event) => event !== reasoning),
    [
      { type: "started", responseId: "resp_1" },
      { type: "reasoning_delta", itemId: "rs_1", delta: "First " },
      { type: "reasoning_delta", itemId: "rs_1", delta: "thought." },
      { type: "reasoning_delta", itemId: "rs_1", delta: "\n\nSecond." },
      { type: "text_delta", itemId: "msg_2", delta: "Größe " },
      { type: "text_delta", itemId: "msg_2", delta: "😀 " },
      { type: "text_delta", itemId: "msg_2", delta: "ok" },
      { type: "item", itemId: "msg_2", item: { type: "assistant", text: "Größe 😀 ok", phase: "commentary" } },
      { type: "tool_call_started", callId: "call_a", name: "look-up" },
      { type: "tool_call_delta", callId: "call_a", delta: '{"a": ' },
      { type: "tool_call_delta", callId: "call_a", delta: '"é"}' },
      {
        type: "item",
        itemId: "call_a",
        item: { type: "tool_call", callId: "call_a", name: "look-up", arguments: '{"a": "é"}' },
      },
      {
        type: "finished",
        stopReason: "tool_calls",
        usage: events.at(-1)?.type === "finished" ? (events.at(-1) as { usage: object }).usage : {},
        responseId: "resp_1",
        model: "gpt-5.1-2025-11-13",
      },
    ],
  );
  const last = events.at(-1);
  assert.ok(last?.type === "finished");
  const { input, cached, output, reasoning: thought, total } = last.usage;
  assert.deepEqual([input, cached, total], [100, 40, 100 + output]);
  assert.ok(thought > 0 && thought < output);
});

test("[D3] wherever the network cuts the bytes, the events are the same", () => {
  assertSameInAnyPieces(source, wireBytes(rich));
});

const response = { id: "resp_1", model: "gpt-5.1" };

test("a server that sends no deltas is understood by its whole items", () => {
  const message = { type: "message", id: "msg_1", content: [{ type: "output_text", text: "hi" }] };
  const call = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
  const events = readPieces([
    eventBytes(
      { type: "response.output_item.done", output_index: 0, item: message },
      { type: "response.output_item.done", output_index: 1, item: call },
      { type: "response.completed", response },
    ),
  ]);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["text_delta", "item", "tool_call_started", "tool_call_delta", "item", "finished"],
  );
});

test("[C1] a response with items that are not kept here cannot be continued", () => {
  const search = { type: "web_search_call", id: "ws_1", status: "completed" };
  const [last] = readPieces([
    eventBytes(
      { type: "response.output_item.done", output_index: 0, item: search },
      { type: "response.completed", response },
    ),
  ]);
  assert.ok(last?.type === "finished" && last.responseId === null);
});

test("[T8] a call that the length limit cut is not given, and the response is not continued", () => {
  const output = [{ type: "function_call" as const, name: "f", arguments: '{"a": ' }];
  const ending = { status: "incomplete", reason: "max_output_tokens" } as const;
  const events = readPieces([wireBytes({ output, ending })]);
  assert.ok(!events.some((event) => event.type === "item"));
  const last = events.at(-1);
  assert.deepEqual(last?.type === "finished" && [last.stopReason, last.responseId], ["length", null]);
});

test("[T10] a message that was cut before its own end is given as far as it came", () => {
  const events = readPieces([
    eventBytes(
      { type: "response.output_text.delta", item_id: "msg_1", delta: "half a sen" },
      { type: "response.incomplete", response: { ...response, incomplete_details: { reason: "max_output_tokens" } } },
    ),
  ]);
  assert.deepEqual(events[1], { type: "item", itemId: "msg_1", item: { type: "assistant", text: "half a sen" } });
});

test("[C7] what comes after the terminal event is not read, and unknown events are skipped", () => {
  const events = readPieces([
    eventBytes(
      { type: "response.brand_new", what: "ever" },
      { type: "response.completed", response },
      { type: "response.output_text.delta", item_id: "msg_1", delta: "late" },
      { type: "response.failed", response },
    ),
    bytesOf("data: [DONE]\n\n"),
  ]);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["finished"],
  );
});

test("[C7] no bytes make the reader throw, or finish an answer that has not ended", () => {
  const wire = [
    "data: ",
    "event: error\n",
    "\n\n",
    "[]",
    "null",
    "{",
    "}",
    '"type":',
    '"error"',
    '{"type":"error"}',
    "😀",
  ];
  const endings = [
    '{"type":"response.completed"}',
    '{"type":"response.output_item.done","item":{"type":"message"}}',
    ":",
  ];
  assertNoiseNeverFinishes(source, [...wire, ...endings]);
});
