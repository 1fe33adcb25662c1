/**
 * The stream events of the Responses API, as far as they are read here. Each schema requires only the fields that are
 * used, so that newer servers, and compatible ones that leave something out, are understood. A test holds the schemas
 * against OpenAI's own types.
 */
import * as z from "zod";
import { otherType, typedEventParser } from "../typed-events.ts";

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

/** The schema is loose: the whole item is kept, because it must go back unchanged (C5). */
const reasoning = z.looseObject({
  type: z.literal("reasoning"),
  id: z.string(),
  summary: texts,
  content: texts.nullish(),
});

const readItem = z.discriminatedUnion("type", [message, functionCall, reasoning]);
const outputItem = z.union([readItem, otherType(["message", "function_call", "reasoning"])]);

const usage = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  input_tokens_details: z
    .object({ cached_tokens: z.number().nullish(), cache_write_tokens: z.number().nullish() })
    .nullish(),
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
  /** Its fields are at the top level, or within `error`. */
  error: z.object({
    type: z.literal("error"),
    error: z.unknown().optional(),
    message: z.unknown().optional(),
    code: z.unknown().optional(),
    param: z.unknown().optional(),
  }),
};

export type OpenAIEventType = keyof typeof events;
export type OpenAIEvent = z.infer<(typeof events)[OpenAIEventType]>;
/** The input of the schemas. */
export type OpenAIEventInput = z.input<(typeof events)[OpenAIEventType]>;
export type OpenAIOutputItem = z.infer<typeof outputItem>;
export type OpenAIResponse = z.infer<typeof response>;
export type OpenAIUsage = z.infer<typeof usage>;

export const parseOpenAIEvent = typedEventParser<OpenAIEvent>(events);
