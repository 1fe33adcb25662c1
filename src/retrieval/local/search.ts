/**
 * The search of the local index (Q3): rankings by words and by vectors over the same rows, fused by reciprocal rank, then ordered as
 * every driver's results are.
 */
import type { Embedder } from "../embedding.ts";
import { evidenceTerms, isEnough, isEnoughBeside, isLearned, needsEvidence, type Evidence } from "../evidence.ts";
import { fuseRankings, orderChunks, rankingDepth } from "../ranking/order-chunks.ts";
import type { Question } from "../ranking/question.ts";
import type { RetrievalQuery, RetrievedChunk } from "../retriever.ts";
import { bestRows, type ChunkSet, type RowFilter, type RowHit } from "./chunk-set.ts";
import type { IndexDatabase, RepositoryRow } from "./index-file.ts";
import { oneCorpus, WordScores, type Corpus } from "./word-scores.ts";

export interface LocalSearch {
  database: IndexDatabase;
  /** The repositories that are searched as if they were one. */
  indexes: readonly LocalIndex[];
  embedder: Embedder;
}

/** The index of a repository, and which of its rows are asked for. */
export interface LocalIndex {
  repository: RepositoryRow;
  set: ChunkSet;
  accepts: RowFilter;
}

interface SearchedIndex extends LocalIndex {
  words: WordScores;
}

/** A row of one of the indexes. */
interface IndexHit extends RowHit {
  index: SearchedIndex;
}

/** Returns the chunks, best first, at most as many as requested. */
export async function searchChunks(
  { database, indexes: all, embedder }: LocalSearch,
  question: Question,
  query: RetrievalQuery,
): Promise<RetrievedChunk[]> {
  const searched = all.map((each) => ({ ...each, words: new WordScores(database, each.repository, each.set) }));
  const indexes = searched.filter((index) => hasEvidence(question, index, embedder));
  if (indexes.length === 0) return [];
  const [vector] = await embedder.embed([question.text]);
  const corpus = oneCorpus(indexes);
  const byWords = question.rankings.map((ranking) => ({
    hits: joined(indexes, (index) => bestRows(index.words.score(ranking, corpus), within(index))),
    weight: 1,
  }));
  const near = new Map<SearchedIndex, RowHit[]>();
  if (vector !== undefined)
    for (const index of indexes) near.set(index, await index.set.nearest(vector, within(index)));
  const byVectors = joined(indexes, (index) => near.get(index) ?? []);
  const rankings = [...byWords, { hits: byVectors, weight: embedder.rankWeight ?? 1 }];
  const fused = fuseRankings(rankings, ({ index, row }) => index.set.numberOf(row));
  const hits = isLearned(embedder) ? fused : withoutStrangers(fused, question, corpus);
  const ranked = hits.map(({ index: { repository, set }, row, score }) => {
    const { path, language } = set.fileAt(row);
    return { repo: repository.name, path, language, score, number: set.numberOf(row), repository };
  });
  const ordered = orderChunks(ranked, question, query.language).slice(0, query.candidates);
  return readChunks(database, ordered);
}

function within({ accepts }: LocalIndex): { count: number; accepts: RowFilter } {
  return { count: rankingDepth, accepts };
}

/** Returns one ranking over all indexes. Equal hits keep the order of the indexes. */
function joined(indexes: readonly SearchedIndex[], hitsOf: (index: SearchedIndex) => RowHit[]): IndexHit[] {
  const hits = indexes.flatMap((index) => hitsOf(index).map((hit) => ({ ...hit, index })));
  return hits.toSorted((one, other) => other.score - one.score).slice(0, rankingDepth);
}

/** Returns whether the words of the question match a chunk of the index well enough (Q3). */
function hasEvidence({ text, isAbout }: Question, index: SearchedIndex, embedder: Embedder): boolean {
  const { words, set, accepts } = index;
  const terms = evidenceTerms(text);
  // A question about tests or documents is about the repository.
  if (isAbout.size > 0 || !needsEvidence(terms, embedder)) return true;
  const own = oneCorpus([index]);
  const [best] = bestRows(words.score({ field: "all", terms }, own), { count: 1, accepts });
  if (best === undefined) return false;
  const [evidence] = words.evidence(terms, [best.row], own);
  return evidence !== undefined && isEnough(evidence, set.rows);
}

/** Leaves out chunks that have next to none of the question's words, by one scale over all indexes. Keeps all if no chunk has any. */
function withoutStrangers<H extends IndexHit>(hits: readonly H[], { text }: Question, corpus: Corpus): H[] {
  const terms = evidenceTerms(text);
  const ofIndex = Map.groupBy(hits, ({ index }) => index);
  const evidence = new Map(
    [...ofIndex].flatMap(([{ words }, own]) => {
      const rows = own.map(({ row }) => row);
      const found = words.evidence(terms, rows, corpus);
      return own.map((hit, at) => [hit, found[at] as Evidence] as const);
    }),
  );
  const best = Math.max(0, ...[...evidence.values()].map(({ sum }) => sum));
  return hits.filter((hit) => isEnoughBeside(best, evidence.get(hit) as Evidence, corpus.rows));
}

/** Returns the chunks of the hits, in their order. A chunk that a run has removed in the meantime is left out. */
function readChunks(
  database: IndexDatabase,
  hits: readonly { number: number; score: number; repository: RepositoryRow }[],
): RetrievedChunk[] {
  const select = database.prepare<[number], Omit<RetrievedChunk, "repo" | "commit" | "score">>(
    `SELECT c.id, f.path, c.start_line AS startLine, c.end_line AS endLine, f.language, c.symbol, c.text, c.hash
     FROM chunks c JOIN files f ON f.id = c.file_id WHERE c.number = ?`,
  );
  return hits.flatMap(({ number, score, repository }) => {
    const row = select.get(number);
    if (row === undefined) return [];
    return [{ ...row, repo: repository.name, commit: repository.commit_id, score }];
  });
}
