/**
 * The stream events of the Messages API, as far as they are read here. Each schema requires only the fields that are
 * used, so that newer servers, and compatible ones that leave something out, are understood. A test holds the schemas
 * against Anthropic's own types.
 */
import * as z from "zod";
import { otherType, typedEventParser } from "../typed-events.ts";

const count = z.number().nullish();

const usage = z.object({
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens: count,
  output_tokens_details: z.object({ thinking_tokens: count }).nullish(),
});

/** The schemas of thinking are loose: the whole block is kept, because it must go back unchanged (C5). */
const readBlock = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().nullish() }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: z.string() }),
  z.object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.unknown() }),
]);

const readDelta = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text_delta"), text: z.string() }),
  z.object({ type: z.literal("thinking_delta"), thinking: z.string() }),
  z.object({ type: z.literal("signature_delta"), signature: z.string() }),
  z.object({ type: z.literal("input_json_delta"), partial_json: z.string() }),
]);

const contentBlock = z.union([readBlock, otherType(["text", "thinking", "redacted_thinking", "tool_use"])]);
const delta = z.union([readDelta, otherType(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"])]);

const index = z.number();

const events = {
  message_start: z.object({
    type: z.literal("message_start"),
    message: z.object({ id: z.string(), model: z.string(), usage: usage.nullish() }),
  }),
  content_block_start: z.object({ type: z.literal("content_block_start"), index, content_block: contentBlock }),
  content_block_delta: z.object({ type: z.literal("content_block_delta"), index, delta }),
  content_block_stop: z.object({ type: z.literal("content_block_stop"), index }),
  message_delta: z.object({
    type: z.literal("message_delta"),
    delta: z.object({
      stop_reason: z.string().nullish(),
      stop_details: z.object({ explanation: z.string().nullish() }).nullish(),
    }),
    usage: usage.nullish(),
  }),
  message_stop: z.object({ type: z.literal("message_stop") }),
  error: z.object({ type: z.literal("error"), error: z.unknown() }),
};

export type AnthropicEventType = keyof typeof events;
export type AnthropicEvent = z.infer<(typeof events)[AnthropicEventType]>;
/** The input of the schemas. */
export type AnthropicEventInput = z.input<(typeof events)[AnthropicEventType]>;
export type AnthropicBlock = z.infer<typeof contentBlock>;
export type AnthropicDelta = z.infer<typeof delta>;
export type AnthropicUsage = z.infer<typeof usage>;

export const parseAnthropicEvent = typedEventParser<AnthropicEvent>(events);
