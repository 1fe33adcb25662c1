/** The results of a search as text, for a cache (Q7). What a cache returns came from outside, so its form is checked. */
import * as z from "zod";
import type { RetrievedChunk } from "./retriever.ts";

const schema = z.array(
  z.strictObject({
    id: z.string(),
    repo: z.string(),
    path: z.string(),
    startLine: z.int(),
    endLine: z.int(),
    language: z.string(),
    symbol: z.string().nullable(),
    text: z.string(),
    hash: z.string(),
    commit: z.string().nullable(),
    score: z.number(),
  }),
);

export function writeChunks(chunks: readonly RetrievedChunk[]): string {
  return JSON.stringify(chunks);
}

/** Returns null if the text is no result of a search. */
export function readChunks(text: string): RetrievedChunk[] | null {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
