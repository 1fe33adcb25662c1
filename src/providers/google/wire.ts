/** The chunks of a streamed answer of Gemini, as far as they are read here; a test holds them against Google's types. */
import { z } from "zod";

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

export type WireChunk = z.infer<typeof chunk>;
/** What the schema takes. */
export type WireChunkInput = z.input<typeof chunk>;
export type WirePart = z.infer<typeof part>;
export type WireCandidate = z.infer<typeof candidate>;
export type WireUsage = z.infer<typeof usageMetadata>;

/** Throws whatever the parsers throw when the data is not JSON or is no chunk. */
export function readWireChunk(data: string): WireChunk {
  return chunk.parse(JSON.parse(data));
}
