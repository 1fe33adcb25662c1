/**
 * The floor of retrieval (Q3): a question that matches nothing well finds nothing. "Thanks!" or "go on" would otherwise be
 * answered with the chunks that are least unlike it. The numbers were measured on questions about our own source, see
 * docs/decisions/0035-a-question-that-matches-nothing-finds-nothing.md.
 */
import type { Embedder } from "./embedding.ts";
import { isStopTerm, questionTerms, stem } from "./terms.ts";

/** Words of a conversation that say nothing about code. They count as evidence nowhere, and are searched for as before. */
const chatTerms = new Set(
  `ahead agree again alright awesome bye cheers continue cool correct done exactly excellent explain fine go good great hello
hey hi idea indeed later lgtm look looks maybe mind morning never next nice no nope ok okay perfect please proceed really right
shorter sorry sound sounds stop sure thank thanks think true try understand wait welcome well wow wrong yeah yep yes`
    .split(/\s+/)
    .map(stem),
);

/** No word is rare in a smaller index. There, one word of the question in any chunk is enough. */
const smallIndexChunks = 50;
const floorFactor = 0.9;
/** A question with more words may be about code in other words than the code's own, which only a learned embedding finds. */
const shortQuestionTerms = 3;

/** Returns the terms of a question that can be evidence. */
export function evidenceTerms(question: string): string[] {
  // A question of stop words alone is searched for with them, but they are no evidence.
  return questionTerms(question).filter((term) => !chatTerms.has(term) && !isStopTerm(term));
}

/** Returns true if a question with these terms finds nothing without evidence. */
export function needsEvidence(terms: readonly string[], embedder: Pick<Embedder, "rankWeight">): boolean {
  const isLearned = (embedder.rankWeight ?? 1) >= 1;
  return !isLearned || terms.length <= shortQuestionTerms;
}

/** Returns how much a term counts that is in so many of all chunks: the rarer, the more. */
export function rarity(chunksWith: number, chunks: number): number {
  return Math.log(1 + (chunks - chunksWith + 0.5) / (chunksWith + 0.5));
}

/** Returns whether the evidence for the best chunk is enough in an index of this size. */
export function isEnough(evidence: number, chunks: number): boolean {
  return chunks < smallIndexChunks ? evidence > 0 : evidence >= floorFactor * Math.log(1 + chunks);
}
