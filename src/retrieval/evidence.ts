/**
 * The floor of retrieval (Q3): a question that matches nothing well finds nothing. "Thanks!" or "go on" would otherwise be
 * answered with the chunks that are least unlike it. The words and the numbers were measured, see
 * docs/decisions/0042-one-measured-ranking-for-every-index.md.
 */
import type { Embedder } from "./embedding.ts";
import { isStopTerm, questionTerms, stem } from "./terms.ts";

/** Words of a conversation that say nothing about code. They count as evidence nowhere, and are searched for as before. */
const chatTerms = new Set(
  `actually agree ahead again already alright another answer anyway ask asked awesome bad better best big bit brief bye care case
cheers clear clearer continue cool correct detail different disagree done elaborate even exactly excellent explain fine first forget
going go good great guess happen hello help hey hi however idea indeed instead job keep kind last later lgtm little long look looks lot
maybe mean means meant mind moment morning need never next nice no nope ok okay one opinion other otherwise part perfect please point
prefer previous proceed question quick quickly reason really remember repeat rest right say second see sense sentence shorter show
simple simpler small sorry sound sounds specific still stop stuff suggest suggestion summarize sure talk tell thank thanks thing think
third though thought time today tomorrow true try two understand wait want way welcome well word work worked worse wow wrong yeah yep
yes yet`
    .split(/\s+/)
    .map(stem),
);

/** No word is rare in a smaller index. There, one word of the question in any chunk is enough. */
const smallIndexChunks = 50;
/** The least sum of rarities, as a share of that of a word in a single chunk: if one word of the question is in the best chunk, and if several are. */
const floor = { oneTerm: 0.75, manyTerms: 0.5 };
/** The least evidence of a chunk that is sent, as a share of the best chunk's. */
const shareOfBest = 0.1;
/** A question with more words may be about code in other words than the code's own, which only a learned embedding finds. */
const shortQuestionTerms = 3;

/** Returns the terms of a question that can be evidence. */
export function evidenceTerms(question: string): string[] {
  // A question of stop words alone is searched for with them, but they are no evidence.
  return questionTerms(question).filter((term) => !chatTerms.has(term) && !isStopTerm(term));
}

/** Returns true if a question with these terms finds nothing without evidence. */
export function needsEvidence(terms: readonly string[], embedder: Pick<Embedder, "rankWeight">): boolean {
  return !isLearned(embedder) || terms.length <= shortQuestionTerms;
}

/** Returns true for an embedding that knows more than the words of a text, so that a chunk without any word of the question may answer it. */
export function isLearned({ rankWeight }: Pick<Embedder, "rankWeight">): boolean {
  return (rankWeight ?? 1) >= 1;
}

/** Returns how much a term counts that is in so many of all chunks: the rarer, the more. */
export function rarity(chunksWith: number, chunks: number): number {
  return Math.log(1 + (chunks - chunksWith + 0.5) / (chunksWith + 0.5));
}

/** How well the best chunk matches: the sum of the rarities of the question's terms that it has, and their number. */
export interface Evidence {
  sum: number;
  terms: number;
}

/** Returns whether the evidence is enough in an index of this size. */
export function isEnough({ sum, terms }: Evidence, chunks: number): boolean {
  if (chunks < smallIndexChunks) return sum > 0;
  return sum >= (terms > 1 ? floor.manyTerms : floor.oneTerm) * Math.log(1 + chunks);
}

/**
 * Returns whether a chunk among so many is found beside the best one. What has next to none of the question's words was found by
 * parts of words, and would be sent only because the budget has room for it.
 */
export function isEnoughBeside(best: number, { sum }: Evidence, chunks: number): boolean {
  return chunks < smallIndexChunks || sum >= shareOfBest * best;
}
