import assert from "node:assert/strict";
import { test } from "node:test";
import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages/messages";
import { streamAnswer } from "../../../testing/fake-anthropic/answer-stream.ts";
import { Prefix } from "../../../testing/fake-anthropic/prefix.ts";
import type { FakeAnswer, FakeOutput } from "../../../testing/fake-anthropic/replies.ts";
import { namedEvent } from "../../../testing/fake-server/deliver.ts";
import { itemsOf } from "../../../testing/provider-exchange.ts";
import {
  assertNoiseNeverFinishes,
  assertSameInAnyPieces,
  bytesOf,
  eventBytes,
  readAnswer,
} from "../../../testing/provider-wire.ts";
import { eventOrderFault } from "../event-order.ts";
import type { ProviderEvent } from "../provider.ts";
import { anthropicAnswers } from "./stream-reader.ts";
import type { AnthropicEventInput, AnthropicEventType } from "./wire.ts";

/** Compiles only while everything that Anthropic's types allow fits what is read here. */
export const asRead = (event: Extract<RawMessageStreamEvent, { type: AnthropicEventType }>): AnthropicEventInput =>
  event;

/** An answer as the bytes of its stream. */
function wireBytes(answer: FakeAnswer): Uint8Array {
  const model = "claude-opus-5-5";
  let ids = 0;
  const { events } = streamAnswer(answer, {
    id: "msg_1",
    newId: (prefix) => `${prefix}_${(ids += 1)}`,
    model,
    prefix: new Prefix({ model, max_tokens: 1, messages: [] }),
    input: { fresh: 10, read: 40, written: 50 },
    extra: {},
  });
  return bytesOf(events.map((event) => namedEvent({ ...event })).join(""));
}

const request = { model: "claude-opus-5-5", body: "" };
const source = { wire: anthropicAnswers, providerName: "anthropic", request };

/** All events of an answer, the terminal one last. */
function readPieces(pieces: readonly Uint8Array[], body = ""): ProviderEvent[] {
  return readAnswer({ ...source, request: { ...request, body } }, pieces);
}

function endOf(events: readonly ProviderEvent[]): string | undefined {
  const last = events.at(-1);
  if (last?.type === "finished") return last.stopReason;
  return last?.type === "failed" ? last.failure.code : undefined;
}

const rich: FakeAnswer = {
  output: [
    { type: "thinking", text: "First thought." },
    { type: "redacted_thinking" },
    { type: "text", text: "Größe 😀 ok" },
    { type: "tool_use", name: "look-up", input: '{"a": "é"}', id: "toolu_a" },
    { type: "tool_use", name: "stop", input: "", id: "toolu_b" },
  ],
};

test("[V1] [C5] every kind of block comes in deltas, then whole; thinking keeps what its provider needs", () => {
  const events = readPieces([wireBytes(rich)]);
  const items = itemsOf(events);
  const [thought, redacted] = items.map((item) => (item.type === "reasoning" ? item.opaque : null));
  const signature = (thought as { signature: string }).signature;
  assert.deepEqual(thought, { type: "thinking", thinking: "First thought.", signature });
  assert.match(signature, /^ey/);
  assert.equal((redacted as { type: string }).type, "redacted_thinking");
  const own = { type: "reasoning", provider: "anthropic", model: "claude-opus-5-5" };
  const call = (callId: string, name: string, args: string) => ({ type: "tool_call", callId, name, arguments: args });
  const last = events.at(-1);
  assert.ok(last?.type === "finished");
  assert.deepEqual(events, [
    { type: "started", responseId: "msg_1" },
    { type: "reasoning_delta", itemId: "msg_1_0", delta: "First " },
    { type: "reasoning_delta", itemId: "msg_1_0", delta: "thought." },
    { type: "item", itemId: "msg_1_0", item: { ...own, text: "First thought.", opaque: thought } },
    { type: "item", itemId: "msg_1_1", item: { ...own, text: "", opaque: redacted } },
    { type: "text_delta", itemId: "msg_1_2", delta: "Größe " },
    { type: "text_delta", itemId: "msg_1_2", delta: "😀 " },
    { type: "text_delta", itemId: "msg_1_2", delta: "ok" },
    { type: "item", itemId: "msg_1_2", item: { type: "assistant", text: "Größe 😀 ok" } },
    { type: "tool_call_started", callId: "toolu_a", name: "look-up" },
    { type: "tool_call_delta", callId: "toolu_a", delta: '{"a": ' },
    { type: "tool_call_delta", callId: "toolu_a", delta: '"é"}' },
    { type: "item", itemId: "toolu_a", item: call("toolu_a", "look-up", '{"a": "é"}') },
    { type: "tool_call_started", callId: "toolu_b", name: "stop" },
    { type: "tool_call_delta", callId: "toolu_b", delta: "{}" },
    { type: "item", itemId: "toolu_b", item: call("toolu_b", "stop", "{}") },
    { type: "finished", stopReason: "tool_calls", usage: last.usage, responseId: "msg_1", model: "claude-opus-5-5" },
  ]);
  assert.equal(eventOrderFault([{ type: "bytes", bytes: bytesOf("x") }, ...events]), null);
});

test("[T4] the input includes what was read from and written to the cache; thinking is part of the output", () => {
  const last = readPieces([wireBytes(rich)]).at(-1);
  assert.ok(last?.type === "finished");
  const { input, cached, output, reasoning, total } = last.usage;
  assert.deepEqual([input, cached, total], [100, 40, 100 + output]);
  assert.ok(reasoning > 0 && reasoning < output);
  const failing: FakeAnswer = {
    output: rich.output,
    ending: { error: { type: "overloaded_error", message: "Overloaded" } },
  };
  const failed = readPieces([wireBytes(failing)]).at(-1);
  assert.deepEqual(
    failed?.type === "failed" && [failed.usage.input, failed.usage.cached, failed.usage.output],
    [100, 40, 1],
  );
});

test("[D3] wherever the network cuts the bytes, the events are the same", () => {
  assertSameInAnyPieces(source, wireBytes(rich));
});

test("[C7] an answer that ends anywhere before its end never finishes", () => {
  const whole = wireBytes(rich);
  const end = Buffer.from(whole).lastIndexOf("\n\n") + 1;
  for (let at = 0; at < end; at += 7) {
    const events = readPieces([whole.subarray(0, at)]);
    assert.ok(
      events.every((event) => event.type !== "finished"),
      `cut at ${at}`,
    );
  }
});

const text: FakeOutput = { type: "text", text: "one two" };
const call: FakeOutput = { type: "tool_use", name: "f", input: '{"a": ' };

test("[C7] how a message stops decides what it is", () => {
  const ended = (output: FakeOutput[], ending: FakeAnswer["ending"]): string | undefined =>
    endOf(readPieces([wireBytes({ output, ...(ending !== undefined && { ending }) })]));
  assert.equal(ended([text], { stopReason: "end_turn" }), "stop");
  assert.equal(ended([text], { stopReason: "stop_sequence" }), "stop");
  assert.equal(ended([], { stopReason: "end_turn" }), "stop");
  assert.equal(ended([{ ...call, input: "{}" } as FakeOutput], { stopReason: "tool_use" }), "tool_calls");
  assert.equal(ended([text], { stopReason: "max_tokens" }), "length");
  assert.equal(ended([text], { stopReason: "model_context_window_exceeded" }), "length");
  assert.equal(ended([], { stopReason: "model_context_window_exceeded" }), "context_window_exceeded");
  assert.equal(ended([text], { stopReason: "refusal" }), "provider_refused_content");
  assert.equal(ended([text], { stopReason: "pause_turn" }), "provider_stream_cut");
  assert.equal(ended([text], { stopReason: "brand_new" as "end_turn" }), "provider_stream_cut");
  assert.equal(ended([text], { error: { type: "overloaded_error", message: "Overloaded" } }), "provider_unavailable");
  const refused = readPieces([wireBytes({ output: [], ending: { stopReason: "refusal", explanation: "because" } })]).at(
    -1,
  );
  assert.equal(refused?.type === "failed" && refused.failure.message, "anthropic: because");
});

test("[T8] a call that a limit cut is not given; one before it is", () => {
  const whole: FakeOutput = { type: "tool_use", name: "f", input: '{"a":1}' };
  for (const stopReason of ["max_tokens", "model_context_window_exceeded"] as const) {
    const events = readPieces([wireBytes({ output: [whole, call], ending: { stopReason } })]);
    assert.deepEqual(
      itemsOf(events).map((item) => item.type === "tool_call" && item.arguments),
      ['{"a":1}'],
    );
    assert.equal(endOf(events), "length");
  }
  const alone = readPieces([
    wireBytes({ output: [{ ...call, input: "" } as FakeOutput], ending: { stopReason: "max_tokens" } }),
  ]);
  assert.deepEqual([itemsOf(alone), endOf(alone)], [[], "length"]);
});

test("[C5] thinking that was cut has no signature, and is kept without what only its provider can read", () => {
  const [item] = itemsOf(
    readPieces([
      eventBytes(
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "h", signature: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "m" } },
        { type: "message_delta", delta: { stop_reason: "max_tokens" } },
        { type: "message_stop" },
      ),
    ]),
  );
  assert.deepEqual(item, { type: "reasoning", provider: "anthropic", model: "claude-opus-5-5", text: "hm" });
});

test("a server that puts everything into the beginning of a block is understood", () => {
  const events = readPieces([
    eventBytes(
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "hi" } },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
      },
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ),
  ]);
  assert.deepEqual(itemsOf(events), [
    { type: "assistant", text: "hi" },
    { type: "tool_call", callId: "t", name: "f", arguments: '{"a":1}' },
  ]);
});

test("[T8] a call id that the history has already is not given again", () => {
  const events = readPieces([wireBytes(rich)], '{"messages":[{"id":"toolu_a"}]}');
  const [first, second] = itemsOf(events).flatMap((item) => (item.type === "tool_call" ? [item.callId] : []));
  assert.match(first ?? "", /^call_[0-9a-f]{24}$/);
  assert.equal(second, "toolu_b");
});

test("[C7] what comes after the end is not read; blocks and events that were not requested are skipped", () => {
  const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  const events = readPieces([
    eventBytes(
      { type: "brand_new", what: "ever" },
      { type: "ping" },
      { type: "content_block_start", index: 0, content_block: search },
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
      { type: "content_block_delta", index: 0, delta: { type: "brand_new_delta" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" } },
      { type: "message_stop" },
      { type: "error", error: { type: "api_error", message: "late" } },
    ),
    bytesOf("data: [DONE]\n\n"),
  ]);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["finished"],
  );
});

test("[C7] deltas that belong to no block, or lack a required field, make the answer invalid", () => {
  const start = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
  const bad: unknown[][] = [
    [{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "lost" } }],
    [start, { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "lost" } }],
    [start, { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "s" } }],
    [start, { type: "content_block_delta", index: 0, delta: { type: "text_delta" } }],
    [{ type: "message_start", message: {} }],
  ];
  for (const events of bad) assert.equal(endOf(readPieces([eventBytes(...events)])), "provider_answer_invalid");
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
    '{"type":"message_stop"}',
    '{"type":"content_block_start","index":0}',
    '{"type":"message_delta","delta":{}}',
    ":",
  ];
  assertNoiseNeverFinishes(source, [...wire, ...endings]);
});
