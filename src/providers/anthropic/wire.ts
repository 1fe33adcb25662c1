/**
 * The stream events of the Messages API, as far as they are read here. Each schema asks only for the fields that
 * are used, so that a newer server, or a compatible one that leaves something out, is understood; a test holds them
 * against Anthropic's own types.
 */
import { z } from "zod";

const count = z.number().nullish();

const usage = z.object({
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens: count,
  output_tokens_details: z.object({ thinking_tokens: count }).nullish(),
});

/** Thinking is loose: the whole block is kept, to be given back as it was (C5). */
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

/** What is of a kind that we never ask for, by no more than that. */
const other = (known: readonly string[]) =>
  z.object({ type: z.string().refine((type) => !known.includes(type)) }).transform(() => ({ type: "other" as const }));

const contentBlock = z.union([readBlock, other(["text", "thinking", "redacted_thinking", "tool_use"])]);
const delta = z.union([readDelta, other(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"])]);

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

export type WireEventType = keyof typeof events;
export type WireEvent = z.infer<(typeof events)[WireEventType]>;
/** What the schemas take. */
export type WireEventInput = z.input<(typeof events)[WireEventType]>;
export type WireBlock = z.infer<typeof contentBlock>;
export type WireDelta = z.infer<typeof delta>;
export type WireUsage = z.infer<typeof usage>;

/** Made once: what zod compiles for it would be compiled for each event else. */
const typed = z.object({ type: z.string() });

/**
 * The event in the `data` of one server-sent event; null for one of a type that is not read, such as `ping`. Throws
 * whatever the parsers throw when the data is not JSON or the event lacks what its type promises.
 */
export function readWireEvent(data: string): WireEvent | null {
  const value: unknown = JSON.parse(data);
  const { type } = typed.parse(value);
  return isReadType(type) ? events[type].parse(value) : null;
}

function isReadType(type: string): type is WireEventType {
  return Object.hasOwn(events, type);
}
