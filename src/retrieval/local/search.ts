/**
 * The search of the local index (Q3): BM25 over terms and exact search over vectors, with the same filters, fused by reciprocal
 * rank.
 */
import type { RetrievedChunk } from "../retriever.ts";
import { evidenceTerms, rarity } from "../evidence.ts";
import { identifierTerms, questionTerms } from "../terms.ts";
import { termsTable, vocabularyTable, type IndexDatabase, type RepositoryRow } from "./index-file.ts";
import type { ChunkHit } from "./vectors.ts";

/** How fast lower ranks lose weight. 60 is the value that the method was published with. */
const rankConstant = 60;
const questionTermsMax = 32;
/**
 * The maximum number of matches to score. The rarest words of a question come first, and further words are dropped when this
 * many matches are reached: a word that is in half of the chunks costs most and distinguishes least.
 */
const scoredMatchesMax = 20_000;

export interface LexicalQuestion {
  question: string;
  count: number;
  /** The filter. Null accepts every chunk. */
  accepts: ((number: number) => boolean) | null;
}

/** Returns the `count` best chunks by BM25, best first, equal ones by number. */
export function lexicalHits(database: IndexDatabase, repository: RepositoryRow, query: LexicalQuestion): ChunkHit[] {
  const terms = tellingTerms(database, repository, questionTerms(query.question));
  return rankByWords(database, repository, { ...query, terms });
}

function rankByWords(
  database: IndexDatabase,
  repository: RepositoryRow,
  { terms, ...query }: LexicalQuestion & { terms: string[] },
): ChunkHit[] {
  const table = termsTable(repository.id);
  // Each column is scored by itself. In one text, a symbol's single mention would not count beside the many in a long body.
  const body = `bm25(${table}, 0, 0, 1)`;
  const symbol = `bm25(${table}, 0, 2, 0)`;
  const path = `bm25(${table}, 1, 0, 0)`;
  return rank(database, { ...query, table, match: anyOf(terms), score: `${body} + ${symbol} + 0.5 * ${path}` });
}

/** Returns chunks that define an identifier which the question names: a user who writes `moveHead` wants to see it. */
export function definitionHits(database: IndexDatabase, repository: RepositoryRow, query: LexicalQuestion): ChunkHit[] {
  const table = termsTable(repository.id);
  const terms = tellingTerms(database, repository, identifierTerms(query.question));
  const match = terms.length === 0 ? "" : `symbol : (${anyOf(terms)})`;
  return rank(database, { ...query, table, match, score: `bm25(${table}, 0, 1, 0)` });
}

/** Returns the query for any of the terms. Terms are letters and digits only, and in quotes none can be an operator of the query language. */
function anyOf(terms: string[]): string {
  return terms.map((term) => `"${term}"`).join(" OR ");
}

/** Returns the best chunks. `score` is an SQL expression for which less is better, as FTS5 defines it. */
function rank(
  database: IndexDatabase,
  { table, match, score, count, accepts }: LexicalQuestion & { table: string; match: string; score: string },
): ChunkHit[] {
  if (match === "") return [];
  const select = `SELECT rowid AS number, -(${score}) AS score FROM ${table}
    WHERE ${table} MATCH ? ORDER BY score DESC, rowid`;
  if (accepts === null) return database.prepare<[string, number], ChunkHit>(`${select} LIMIT ?`).all(match, count);
  const hits: ChunkHit[] = [];
  for (const hit of database.prepare<[string], ChunkHit>(select).iterate(match)) {
    if (accepts(hit.number)) hits.push(hit);
    if (hits.length === count) break;
  }
  return hits;
}

/** Returns a function that counts the chunks with a term. */
function countOf(database: IndexDatabase, repository: RepositoryRow): (term: string) => number {
  const count = database
    .prepare<[string], number>(`SELECT doc FROM ${vocabularyTable(repository.id)} WHERE term = ?`)
    .pluck();
  return (term) => (count.get(term) as number | undefined) ?? 0;
}

/** Returns the terms that are in the index, rarest first: as many as can be scored in time, but at least one. */
function tellingTerms(database: IndexDatabase, repository: RepositoryRow, terms: string[]): string[] {
  const chunksWith = countOf(database, repository);
  const known = terms
    .map((term) => ({ term, chunks: chunksWith(term) }))
    .filter(({ chunks }) => chunks > 0)
    .toSorted((a, b) => a.chunks - b.chunks);
  let scoredMatches = 0;
  return known
    .filter(({ chunks }, at) => {
      scoredMatches += chunks;
      return at === 0 || (scoredMatches <= scoredMatchesMax && at < questionTermsMax);
    })
    .map(({ term }) => term);
}

/**
 * Returns the evidence that the index has something about the question: the rarity of its terms that are in the best chunk. A
 * term in the path or the symbol counts twice, because chunks are about that.
 */
export function wordEvidence(
  database: IndexDatabase,
  repository: RepositoryRow,
  query: LexicalQuestion & { chunks: number },
): number {
  const terms = tellingTerms(database, repository, evidenceTerms(query.question));
  const [best] = rankByWords(database, repository, { ...query, count: 1, terms });
  if (best === undefined) return 0;
  const table = termsTable(repository.id);
  const has = database
    .prepare<[number, string], number>(`SELECT 1 FROM ${table} WHERE rowid = ? AND ${table} MATCH ?`)
    .pluck();
  const chunksWith = countOf(database, repository);
  const evidence = terms.map((term) => {
    if (has.get(best.number, `"${term}"`) === undefined) return 0;
    const isNamed = has.get(best.number, `{path symbol} : "${term}"`) !== undefined;
    return rarity(chunksWith(term), query.chunks) * (isNamed ? 2 : 1);
  });
  return evidence.reduce((sum, one) => sum + one, 0);
}

export interface Ranking {
  hits: ChunkHit[];
  weight: number;
}

/** Fuses rankings by reciprocal rank: a hit counts by its ranks, not by scores that cannot be compared. */
export function fuse(rankings: Ranking[], count: number): ChunkHit[] {
  const scores = new Map<number, number>();
  for (const { hits, weight } of rankings) {
    hits.forEach(({ number }, at) => {
      scores.set(number, (scores.get(number) ?? 0) + weight / (rankConstant + at + 1));
    });
  }
  return [...scores]
    .map(([number, score]) => ({ number, score }))
    .toSorted((a, b) => b.score - a.score || a.number - b.number)
    .slice(0, count);
}

/** Returns the chunks of the hits, in their order. A chunk that a run has removed in the meantime is left out. */
export function readChunks(database: IndexDatabase, repository: RepositoryRow, hits: ChunkHit[]): RetrievedChunk[] {
  const select = database.prepare<[number], Omit<RetrievedChunk, "repo" | "commit" | "score">>(
    `SELECT c.id, f.path, c.start_line AS startLine, c.end_line AS endLine, f.language, c.symbol, c.text, c.hash
     FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.number = ?`,
  );
  return hits.flatMap(({ number, score }) => {
    const row = select.get(number);
    if (row === undefined) return [];
    return [{ ...row, repo: repository.name, commit: repository.commit_id, score }];
  });
}
