/**
 * The stream events of the Responses API, as far as they are read here. Each schema asks only for the fields
 * that are used, so that a newer server, or a compatible one that leaves something out, is understood; a test
 * holds them against OpenAI's own types.
 */
import { z } from "zod";

const texts = z.array(z.looseObject({ text: z.string() }));

const message = z.object({
  type: z.literal("message"),
  id: z.string(),
  content: z.array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("output_text"), text: z.string() }),
      z.object({ type: z.literal("refusal"), refusal: z.string() }),
    ]),
  ),
  phase: z.string().nullish(),
});

const functionCall = z.object({
  type: z.literal("function_call"),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
  status: z.string().nullish(),
});

/** Loose: the whole item is kept, to be given back as it was (C5). */
const reasoning = z.looseObject({
  type: z.literal("reasoning"),
  id: z.string(),
  summary: texts,
  content: texts.nullish(),
});

const readItem = z.discriminatedUnion("type", [message, functionCall, reasoning]);
const readTypes = new Set(["message", "function_call", "reasoning"]);

/** An output item; of the kinds that we never ask for only the name. */
const outputItem = z.union([
  readItem,
  z
    .object({ type: z.string().refine((type) => !readTypes.has(type)) })
    .transform(({ type }) => ({ type: "other" as const, name: type })),
]);

const usage = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  input_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
  output_tokens_details: z.object({ reasoning_tokens: z.number().nullish() }).nullish(),
});

const response = z.object({
  id: z.string(),
  model: z.string(),
  error: z.unknown().optional(),
  incomplete_details: z.object({ reason: z.string().nullish() }).nullish(),
  usage: usage.nullish(),
});

const delta = { item_id: z.string(), delta: z.string() };
const item = { output_index: z.number(), item: outputItem };

const events = {
  "response.created": z.object({ type: z.literal("response.created"), response }),
  "response.output_item.added": z.object({ type: z.literal("response.output_item.added"), ...item }),
  "response.output_item.done": z.object({ type: z.literal("response.output_item.done"), ...item }),
  "response.output_text.delta": z.object({ type: z.literal("response.output_text.delta"), ...delta }),
  "response.reasoning_summary_text.delta": z.object({
    type: z.literal("response.reasoning_summary_text.delta"),
    summary_index: z.number(),
    ...delta,
  }),
  "response.reasoning_text.delta": z.object({
    type: z.literal("response.reasoning_text.delta"),
    content_index: z.number(),
    ...delta,
  }),
  "response.function_call_arguments.delta": z.object({
    type: z.literal("response.function_call_arguments.delta"),
    output_index: z.number(),
    delta: z.string(),
  }),
  "response.completed": z.object({ type: z.literal("response.completed"), response }),
  "response.incomplete": z.object({ type: z.literal("response.incomplete"), response }),
  "response.failed": z.object({ type: z.literal("response.failed"), response }),
  /** Its fields stand at the top, or within `error`. */
  error: z.object({
    type: z.literal("error"),
    error: z.unknown().optional(),
    message: z.unknown().optional(),
    code: z.unknown().optional(),
    param: z.unknown().optional(),
  }),
};

export type WireEventType = keyof typeof events;
export type WireEvent = z.infer<(typeof events)[WireEventType]>;
/** What the schemas take. */
export type WireEventInput = z.input<(typeof events)[WireEventType]>;
export type WireItem = z.infer<typeof outputItem>;
export type WireResponse = z.infer<typeof response>;
export type WireUsage = z.infer<typeof usage>;

/** Made once: what zod compiles for it would be compiled for each event else. */
const typed = z.object({ type: z.string() });

/**
 * The event in the `data` of one server-sent event; null for one of a type that is not read. Throws whatever
 * the parsers throw when the data is not JSON or the event lacks what its type promises.
 */
export function readWireEvent(data: string): WireEvent | null {
  const value: unknown = JSON.parse(data);
  const { type } = typed.parse(value);
  return isReadType(type) ? events[type].parse(value) : null;
}

function isReadType(type: string): type is WireEventType {
  return Object.hasOwn(events, type);
}
