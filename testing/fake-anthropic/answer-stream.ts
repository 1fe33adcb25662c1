/** Turns an answer into the stream events of the Messages API, in Anthropic's order and with Anthropic's types. */
import { wordPieces } from "../fake-server/deliver.ts";
import type {
  ContentBlock,
  ContentBlockParam,
  Message,
  MessageDeltaUsage,
  RawContentBlockDelta,
  RawMessageStreamEvent,
  StopReason,
  Usage,
} from "@anthropic-ai/sdk/resources/messages/messages";
import { type Prefix, tokensOf } from "./prefix.ts";
import { Refusal } from "./refusal.ts";
import type { FakeAnswer, FakeEnding, FakeOutput } from "./replies.ts";
import { signatureOf } from "./signed-thinking.ts";

export type FakeEvent = RawMessageStreamEvent | { type: "ping" } | Refusal["body"];

export interface AnswerFrame {
  id: string;
  /** Makes call ids that are unique and the same in every run. */
  newId: (prefix: string) => string;
  model: string;
  /** The prefix of all that the model saw. It grows with the answer. */
  prefix: Prefix;
  /** Input tokens: those outside the prompt cache, those read from it, and those written to it. */
  input: { fresh: number; read: number; written: number };
  /** Fields that are added to the message for a client that requested them. */
  extra: object;
}

export interface StreamedAnswer {
  events: FakeEvent[];
  /** The same answer as one message. */
  message: Message;
}

type Written = Extract<ContentBlock, { type: "text" | "thinking" | "redacted_thinking" | "tool_use" }>;

interface WrittenBlock {
  block: Written;
  /** The arguments of a call, exactly as the model wrote them. */
  text: string;
}

export function streamAnswer({ output, ending }: FakeAnswer, frame: AnswerFrame): StreamedAnswer {
  const blocks = output.map((part) => writtenBlock(part, frame));
  const { id, model, extra } = frame;
  const usage = usageOf(blocks, frame);
  const started: Message = {
    id,
    type: "message",
    role: "assistant",
    model,
    content: [],
    container: null,
    diagnostics: null,
    stop_reason: null,
    stop_details: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1, output_tokens_details: null },
    ...extra,
  };
  const stop = stopOf(ending ?? { stopReason: fittingStop(output) });
  const message = { ...started, ...stop.delta, content: blocks.map(({ block }) => block), usage };
  const last: FakeEvent[] =
    stop.error === null
      ? [{ type: "message_delta", delta: stop.delta, usage: deltaUsage(usage) }, { type: "message_stop" }]
      : [stop.error];
  const inBlocks = blocks.flatMap((block, index) => blockEvents(block, index));
  const [first, ...rest] = inBlocks;
  // The real endpoint sends an early ping, at no fixed position.
  const events: FakeEvent[] = first === undefined ? [{ type: "ping" }] : [first, { type: "ping" }, ...rest];
  return { events: [{ type: "message_start", message: started }, ...events, ...last], message };
}

function fittingStop(output: readonly FakeOutput[]): StopReason {
  return output.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
}

type Stop = Pick<Message, "container" | "stop_details" | "stop_reason" | "stop_sequence">;

function stopOf(ending: FakeEnding): { delta: Stop; error: Refusal["body"] | null } {
  const nothing: Stop = { container: null, stop_details: null, stop_reason: null, stop_sequence: null };
  if ("error" in ending) return { delta: nothing, error: new Refusal(ending.error.message, ending.error).body };
  const { stopReason, explanation, category = null } = ending;
  const details = explanation === undefined ? null : ({ type: "refusal", category, explanation } as const);
  return { delta: { ...nothing, stop_reason: stopReason, stop_details: details }, error: null };
}

function writtenBlock(part: FakeOutput, frame: AnswerFrame): WrittenBlock {
  const written = blockOf(part, frame);
  frame.prefix.add("assistant", asSentBack(written.block));
  return written;
}

function blockOf(part: FakeOutput, { model, prefix, newId }: AnswerFrame): WrittenBlock {
  switch (part.type) {
    case "text":
      return { block: { type: "text", text: part.text, citations: null }, text: part.text };
    case "thinking": {
      const signature = signatureOf({ model, text: part.text, prefix: prefix.digest });
      return { block: { type: "thinking", thinking: part.text, signature }, text: part.text };
    }
    case "redacted_thinking": {
      const data = signatureOf({ model, text: "", prefix: prefix.digest });
      return { block: { type: "redacted_thinking", data }, text: data };
    }
    case "tool_use": {
      const { name, input, id = newId("toolu") } = part;
      const block = { type: "tool_use" as const, id, name, input: parsed(input), caller: { type: "direct" as const } };
      return { block, text: input };
    }
  }
}

/** The fields of a block that the API accepts in a later request. */
function asSentBack(block: Written): ContentBlockParam {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: block.input };
    default:
      return block;
  }
}

/** Parses the arguments. Text that was cut in the middle has no value. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input === "" ? "{}" : input);
  } catch {
    return {};
  }
}

function blockEvents({ block, text }: WrittenBlock, index: number): FakeEvent[] {
  const deltas = deltasOf(block, text).map((delta): FakeEvent => ({ type: "content_block_delta", index, delta }));
  return [
    { type: "content_block_start", index, content_block: begun(block) },
    ...deltas,
    { type: "content_block_stop", index },
  ];
}

function begun(block: Written): Written {
  switch (block.type) {
    case "text":
      return { ...block, text: "" };
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "redacted_thinking":
      return block;
    case "tool_use":
      return { ...block, input: {} };
  }
}

function deltasOf(block: Written, text: string): RawContentBlockDelta[] {
  switch (block.type) {
    case "text":
      return wordPieces(text).map((piece) => ({ type: "text_delta", text: piece }));
    case "thinking":
      return [
        ...wordPieces(text).map((piece) => ({ type: "thinking_delta" as const, thinking: piece })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "redacted_thinking":
      return [];
    case "tool_use":
      // The real endpoint begins with an empty piece.
      return ["", ...wordPieces(text)].map((piece) => ({ type: "input_json_delta", partial_json: piece }));
  }
}

/** Word by word, as a model would. */
function usageOf(blocks: readonly WrittenBlock[], { input }: AnswerFrame): Usage {
  const tokens = (some: readonly WrittenBlock[]): number => some.reduce((sum, { text }) => sum + tokensOf(text), 0);
  return {
    input_tokens: input.fresh,
    cache_read_input_tokens: input.read,
    cache_creation_input_tokens: input.written,
    cache_creation: { ephemeral_5m_input_tokens: input.written, ephemeral_1h_input_tokens: 0 },
    output_tokens: tokens(blocks) + 1,
    output_tokens_details: { thinking_tokens: tokens(blocks.filter(({ block }) => block.type === "thinking")) },
    inference_geo: null,
    server_tool_use: null,
    service_tier: "standard",
    speed: "standard",
  };
}

function deltaUsage(usage: Usage): MessageDeltaUsage {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage;
  const { output_tokens_details, server_tool_use } = usage;
  return {
    input_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    output_tokens,
    output_tokens_details,
    server_tool_use,
  };
}
