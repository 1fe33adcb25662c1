/** Finds the sources that match an instruction best, and the best of their lines (L3). It only counts words. */
import type { QuotableSource } from "./read-messages.ts";

export interface SourceQuote {
  source: QuotableSource;
  /** The first line in the file, counted from 1. */
  startLine: number;
  /** The last line, which is part of the quote. */
  endLine: number;
  text: string;
}

/** The most lines of a source that are quoted. */
const quoteLinesMax = 12;

/** The most sources that are ranked. In a very long session these are the newest ones. */
const sourcesMax = 400;

const emptyWords = new Set(
  "a about an and are as at be by can could do does for from had has have how i if in into is it its me my no not of on or our please shall should show so tell than that the their them then there these they this to us was we what when where which who why will with would you your".split(
    " ",
  ),
);

/** Returns the words of a text in lower case; `camelCase` and `snake_case` give their parts and the whole. */
function termsOf(text: string): string[] {
  return namesIn(text).flatMap(termsOfName);
}

function namesIn(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function termsOfName(name: string): string[] {
  const parts = name.split(/_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u).filter((part) => part !== "");
  return (parts.length > 1 ? [name, ...parts] : [name]).map(stem);
}

/** Removes endings: words that differ only in their ending usually mean the same. */
function stem(word: string): string {
  const lower = word.toLowerCase();
  return lower.length > 4 ? lower.replace(/(?:ing|ed|es|s|e)$/, "") : lower;
}

function wantedTerms(instruction: string): Set<string> {
  return new Set(
    namesIn(instruction)
      .filter((name) => !emptyWords.has(name.toLowerCase()))
      .flatMap(termsOfName),
  );
}

/** Returns the best sources first, each with its best lines. Sources without a word of the instruction are left out. */
export function bestQuotes(instruction: string, sources: readonly QuotableSource[], most: number): SourceQuote[] {
  const wanted = wantedTerms(instruction);
  const recent = sources.slice(0, sourcesMax);
  const held = recent.map(
    (source) => new Set(termsOf(`${source.path}\n${source.text}`).filter((term) => wanted.has(term))),
  );
  const weights = weightsOf(wanted, held);
  return recent
    .map((source, index) => ({ source, score: sum(held[index] ?? new Set(), weights) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ source }) => quoteOf(source, weights));
}

/** Returns the weight of each word. A word that few sources contain weighs more. */
function weightsOf(wanted: ReadonlySet<string>, held: readonly ReadonlySet<string>[]): Map<string, number> {
  return new Map(
    [...wanted].map((term) => {
      const holders = held.filter((terms) => terms.has(term)).length;
      return [term, Math.log(1 + held.length / (holders + 0.5))];
    }),
  );
}

function sum(terms: ReadonlySet<string>, weights: ReadonlyMap<string, number>): number {
  return [...terms].reduce((total, term) => total + (weights.get(term) ?? 0), 0);
}

/** Returns the window of lines with the greatest weight of words. */
function quoteOf(source: QuotableSource, weights: ReadonlyMap<string, number>): SourceQuote {
  const lines = source.text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const scores = lines.map((line) => sum(new Set(termsOf(line)), weights));
  let window = scores.slice(0, quoteLinesMax).reduce((total, score) => total + score, 0);
  let best = { start: 0, score: window };
  for (let start = 1; start + quoteLinesMax <= lines.length; start += 1) {
    window += (scores[start + quoteLinesMax - 1] ?? 0) - (scores[start - 1] ?? 0);
    if (window > best.score + 1e-9) best = { start, score: window };
  }
  const quoted = lines.slice(best.start, best.start + quoteLinesMax);
  const startLine = source.startLine + best.start;
  return { source, startLine, endLine: startLine + Math.max(1, quoted.length) - 1, text: quoted.join("\n") };
}
