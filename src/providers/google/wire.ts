/** The chunks of a streamed answer of Gemini, as far as they are read here. A test holds them against Google's types. */
import * as z from "zod";

const part = z.object({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  functionCall: z
    .object({
      id: z.string().optional(),
      name: z.string().optional(),
      args: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});

const candidate = z.object({
  content: z.object({ parts: z.array(part).optional() }).optional(),
  finishReason: z.string().optional(),
  finishMessage: z.string().optional(),
});

const count = z.number().optional();

const usageMetadata = z.object({
  promptTokenCount: count,
  cachedContentTokenCount: count,
  candidatesTokenCount: count,
  thoughtsTokenCount: count,
  toolUsePromptTokenCount: count,
  totalTokenCount: count,
});

/** An error may take the place of a chunk. */
const chunk = z.object({
  candidates: z.array(candidate).optional(),
  promptFeedback: z
    .object({ blockReason: z.string().optional(), blockReasonMessage: z.string().optional() })
    .optional(),
  usageMetadata: usageMetadata.optional(),
  modelVersion: z.string().optional(),
  error: z.unknown().optional(),
});

export type GoogleChunk = z.infer<typeof chunk>;
/** The input of the schema. */
export type GoogleChunkInput = z.input<typeof chunk>;
export type GooglePart = z.infer<typeof part>;
export type GoogleCandidate = z.infer<typeof candidate>;
export type GoogleUsage = z.infer<typeof usageMetadata>;

/** Parses the data of one server-sent event. Throws if it is not JSON or not a chunk. */
export function parseGoogleChunk(data: string): GoogleChunk {
  return chunk.parse(JSON.parse(data));
}
