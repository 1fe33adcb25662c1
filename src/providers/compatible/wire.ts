/**
 * The chunks of a streamed chat completion, as far as they are read here. Servers differ, so each schema asks for
 * as little as it can; a test holds it against OpenAI's own type.
 */
import { z } from "zod";

const text = z.string().nullish();

/** Arguments are pieces of JSON text; some servers send them whole, as an object. */
const toolCallPiece = z.object({
  index: z.number().nullish(),
  id: text,
  function: z
    .object({
      name: text,
      arguments: z
        .union([z.string(), z.record(z.string(), z.unknown()).transform((value) => JSON.stringify(value))])
        .nullish(),
    })
    .nullish(),
});

const choice = z.object({
  delta: z
    .object({
      content: text,
      reasoning_content: text,
      reasoning: text,
      refusal: text,
      tool_calls: z.array(toolCallPiece).nullish(),
    })
    .nullish(),
  finish_reason: text,
});

const usage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number().nullish(),
  total_tokens: z.number().nullish(),
  prompt_tokens_details: z.object({ cached_tokens: z.number().nullish() }).nullish(),
  completion_tokens_details: z.object({ reasoning_tokens: z.number().nullish() }).nullish(),
});

/** An error may take the place of a chunk. */
const chunk = z.object({
  model: text,
  choices: z.array(choice).nullish(),
  usage: usage.nullish(),
  error: z.unknown().optional(),
});

export type WireChunk = z.infer<typeof chunk>;
/** What the schema takes. */
export type WireChunkInput = z.input<typeof chunk>;
export type WireDelta = NonNullable<z.infer<typeof choice>["delta"]>;
export type WireToolCallPiece = z.infer<typeof toolCallPiece>;
export type WireUsage = z.infer<typeof usage>;

/** Throws whatever the parsers throw when the data is not JSON or is no chunk. */
export function readWireChunk(data: string): WireChunk {
  return chunk.parse(JSON.parse(data));
}
