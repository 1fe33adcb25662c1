/**
 * The chunks of a streamed chat completion, as far as they are read here. Servers differ, so each schema requires as
 * little as possible. A test holds the schema against OpenAI's own type.
 */
import * as z from "zod";

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

export type CompatibleChunk = z.infer<typeof chunk>;
/** The input of the schema. */
export type CompatibleChunkInput = z.input<typeof chunk>;
export type CompatibleDelta = NonNullable<z.infer<typeof choice>["delta"]>;
export type CompatibleCallPiece = z.infer<typeof toolCallPiece>;
export type CompatibleUsage = z.infer<typeof usage>;

/** Parses the data of one server-sent event. Throws if it is not JSON or not a chunk. */
export function parseCompatibleChunk(data: string): CompatibleChunk {
  return chunk.parse(JSON.parse(data));
}
