/** What is known of a chunk beside its words: whether it is a test, and whether its language is the one that the caller prefers. */
import { testCodeWeight } from "./test-code.ts";

/**
 * How much more the preferred language counts. With it a chunk passes others that are about 15 places before it in every
 * ranking, but not one that is clearly better.
 */
const preferredWeight = 1.25;

/** Returns the factor for the score of a chunk. No factor is 0: no chunk is left out by it (S9). */
export function chunkWeight(
  chunk: { path: string; language: string },
  asked: { question: string; language: string | undefined },
): number {
  const ofLanguage = chunk.language === asked.language?.toLowerCase() ? preferredWeight : 1;
  return ofLanguage * testCodeWeight(chunk.path, asked.question);
}
