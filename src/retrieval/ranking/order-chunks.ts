/**
 * The order of what several rankings have found (Q3), the same for every driver: chunks weigh by what their files are for and by their
 * language, and a chunk counts more in a file that has other good ones. README.md beside this file says what each part is worth.
 */
import { isNamedBy, kindOfPath, type PathKind } from "./path-kinds.ts";
import type { Question } from "./question.ts";

/** How many chunks of each ranking are fused. A chunk low in all of them can be better than one that is high in one. */
export const rankingDepth = 200;
/** How fast lower ranks lose weight. 60 is the value that the method was published with. */
const rankConstant = 60;

/**
 * The weight of files that the question does not ask for. A long question describes a behaviour, which means code. A short one may
 * mean a document without a word that says so.
 */
const unaskedWeight = { long: 0.4, short: 0.5, shortForDocs: 0.65 };
/** The weight of everything else in a question that is about tests or documents. */
const offTopicWeight = 0.6;
/** The weight of code in another language than most code that was found. */
const otherLanguageWeight = 0.7;
/**
 * How much more the preferred language counts. With it a chunk passes others that are about 15 places before it in every
 * ranking, but not one that is clearly better.
 */
const preferredWeight = 1.25;
/** How much of its file's score a chunk gets, and how much less each further chunk of the file adds to it. */
const fileShare = 0.4;
const fileDecay = 0.4;
/** The number of chunks that make the scores of files. */
const fileChunksMax = 200;

/** A chunk as rankings know it. */
export interface RankedChunk {
  repo: string;
  path: string;
  language: string;
  /** The fused score. */
  score: number;
}

/**
 * Fuses rankings by reciprocal rank: a chunk counts by its ranks, not by scores that cannot be compared. `keyOf` tells chunks apart.
 * Equal ones keep the order of the first ranking that has them.
 */
export function fuseRankings<H, K>(
  rankings: readonly { hits: readonly H[]; weight: number }[],
  keyOf: (hit: H) => K,
): (H & { score: number })[] {
  const fused = new Map<K, H & { score: number }>();
  for (const { hits, weight } of rankings) {
    for (const [at, hit] of hits.entries()) {
      const key = keyOf(hit);
      const known = fused.get(key);
      const score = (known?.score ?? 0) + weight / (rankConstant + at + 1);
      fused.set(key, { ...hit, score });
    }
  }
  return [...fused.values()].toSorted((one, other) => other.score - one.score);
}

/** Orders chunks, best first. Equal ones keep their order. `language` is the one that the caller prefers. */
export function orderChunks<C extends RankedChunk>(
  chunks: readonly C[],
  question: Question,
  language: string | undefined,
): C[] {
  const weight = weigher(chunks, question, language);
  const weighed = best(chunks.map((chunk) => ({ ...chunk, score: chunk.score * weight(chunk) })));
  const ofFile = fileScores(weighed.slice(0, fileChunksMax));
  return best(
    weighed.map((chunk) => ({ ...chunk, score: chunk.score + fileShare * (ofFile.get(fileKey(chunk)) ?? 0) })),
  );
}

function best<C extends RankedChunk>(chunks: C[]): C[] {
  return chunks.toSorted((one, other) => other.score - one.score);
}

/** Returns the function that weighs a chunk. No weight is 0: no chunk is left out by it (S9). */
function weigher(
  chunks: readonly RankedChunk[],
  { hasBody, asks, isAbout, titleTerms }: Question,
  language: string | undefined,
): (chunk: RankedChunk) => number {
  const unasked = (kind: PathKind): number => {
    if (hasBody) return unaskedWeight.long;
    return kind === "docs" ? unaskedWeight.shortForDocs : unaskedWeight.short;
  };
  const main = mainFamily(chunks);
  const preferred = language?.toLowerCase();
  return (chunk) => {
    const kind = kindOfPath(chunk.path);
    let weight = chunk.language === preferred ? preferredWeight : 1;
    if (kind !== "code" && !asks.has(kind) && !isNamedBy(chunk.path, titleTerms)) weight *= unasked(kind);
    if (kind === "code" && familyOf(chunk.language) !== main && chunk.language !== preferred)
      weight *= otherLanguageWeight;
    if (isAbout.size > 0 && !isAbout.has(kind)) weight *= offTopicWeight;
    return weight;
  };
}

/** Returns the family of languages that most of the code belongs to. */
function mainFamily(chunks: readonly RankedChunk[]): string | null {
  const counts = new Map<string, number>();
  for (const { path, language } of chunks) {
    if (kindOfPath(path) !== "code") continue;
    const family = familyOf(language);
    counts.set(family, (counts.get(family) ?? 0) + 1);
  }
  const most = Math.max(0, ...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0] ?? null;
}

/** Languages that one project writes side by side. */
const families: Record<string, string> = { tsx: "javascript", typescript: "javascript", cpp: "c" };

function familyOf(language: string): string {
  return families[language] ?? language;
}

/** Returns the score of each file. The chunks must be sorted. */
function fileScores(chunks: readonly RankedChunk[]): Map<string, number> {
  const files = new Map<string, { score: number; share: number }>();
  for (const chunk of chunks) {
    const { score } = chunk;
    const file = files.get(fileKey(chunk)) ?? { score: 0, share: 1 };
    files.set(fileKey(chunk), { score: file.score + score * file.share, share: file.share * fileDecay });
  }
  return new Map([...files].map(([file, { score }]) => [file, score]));
}

/** Two repositories may have a file with the same path. */
function fileKey({ repo, path }: RankedChunk): string {
  return `${repo}\u0000${path}`;
}
