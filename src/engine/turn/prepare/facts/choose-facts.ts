/**
 * Chooses the facts that a message brings (M3). A short memory is given whole. Of a longer one, the facts that share telling words with the
 * question are given, the best ones first, as many as the budget of tokens holds.
 */
import type { Fact } from "../../../../domain/fact.ts";
import { limits } from "../../../../domain/limits.ts";
import { evidenceTerms, rarity } from "../../../../retrieval/evidence.ts";
import { termsOf } from "../../../../retrieval/terms.ts";
import { estimateTokens } from "../gathered/choose-chunks.ts";

/** The tokens of the lines around a fact. */
const frameTokens = 20;

/** Returns the facts for a question, in the order of the memory. Those that the model has already take up their room too. */
export function chooseFacts(facts: readonly Fact[], question: string): Fact[] {
  const total = facts.reduce((sum, fact) => sum + factTokens(fact), 0);
  if (total <= limits.factsTokensMax) return [...facts];
  const chosen = new Set<Fact>();
  let room: number = limits.factsTokensMax;
  for (const fact of byRelevance(facts, question)) {
    const tokens = factTokens(fact);
    if (tokens > room) continue;
    chosen.add(fact);
    room -= tokens;
  }
  return facts.filter((fact) => chosen.has(fact));
}

function factTokens({ text }: Fact): number {
  return estimateTokens(text) + frameTokens;
}

/** Returns the facts that have a telling word of the question, the best first. A word counts the more, the fewer facts have it. */
function byRelevance(facts: readonly Fact[], question: string): Fact[] {
  const asked = evidenceTerms(question);
  const terms = facts.map(({ text }) => new Set(termsOf(text)));
  const worth = new Map(
    asked.map((term) => [term, rarity(terms.filter((own) => own.has(term)).length, facts.length)] as const),
  );
  return facts
    .map((fact, at) => {
      const own = terms[at] ?? new Set<string>();
      return { fact, score: asked.reduce((sum, term) => sum + (own.has(term) ? (worth.get(term) ?? 0) : 0), 0) };
    })
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .map(({ fact }) => fact);
}
