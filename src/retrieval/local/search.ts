/**
 * The search of the local index (Q3): rankings by words and by vectors over the same rows, fused by reciprocal rank, then ordered as
 * every driver's results are.
 */
import type { Embedder } from "../embedding.ts";
import { evidenceTerms, isEnough, needsEvidence } from "../evidence.ts";
import { fuseRankings, orderChunks, rankingDepth } from "../ranking/order-chunks.ts";
import type { Question } from "../ranking/question.ts";
import type { RetrievalQuery, RetrievedChunk } from "../retriever.ts";
import { bestRows, type ChunkSet, type RowFilter } from "./chunk-set.ts";
import type { IndexDatabase, RepositoryRow } from "./index-file.ts";
import { WordScores } from "./word-scores.ts";

export interface LocalSearch {
  database: IndexDatabase;
  repository: RepositoryRow;
  set: ChunkSet;
  embedder: Embedder;
}

/** Returns the chunks, best first, at most as many as requested. */
export async function searchChunks(
  { database, repository, set, embedder }: LocalSearch,
  question: Question,
  query: RetrievalQuery,
): Promise<RetrievedChunk[]> {
  const words = new WordScores(database, repository, set);
  const accepts = set.filter(query);
  if (!hasEvidence(question, words, { set, embedder, accepts })) return [];
  const [vector] = await embedder.embed([question.text]);
  const within = { count: rankingDepth, accepts };
  const byWords = question.rankings.map((ranking) => ({ hits: bestRows(words.score(ranking), within), weight: 1 }));
  const near = vector === undefined ? [] : await set.nearest(vector, within);
  const rankings = [...byWords, { hits: near, weight: embedder.rankWeight ?? 1 }];
  const hits = fuseRankings(rankings, ({ row }) => row);
  const ranked = hits.map(({ row, score }) => {
    const { path, language } = set.fileAt(row);
    return { path, language, score, number: set.numberOf(row) };
  });
  const ordered = orderChunks(ranked, question, query.language).slice(0, query.candidates);
  return readChunks(database, repository, ordered);
}

/** Returns whether the words of the question match a chunk well enough (Q3). */
function hasEvidence(
  { text, isAbout }: Question,
  words: WordScores,
  { set, embedder, accepts }: { set: ChunkSet; embedder: Embedder; accepts: RowFilter },
): boolean {
  const terms = evidenceTerms(text);
  // A question about tests or documents is about the repository.
  if (isAbout.size > 0 || !needsEvidence(terms, embedder)) return true;
  const [best] = bestRows(words.score({ field: "all", terms }), { count: 1, accepts });
  return best !== undefined && isEnough(words.evidence(terms, best.row), set.rows);
}

/** Returns the chunks of the hits, in their order. A chunk that a run has removed in the meantime is left out. */
function readChunks(
  database: IndexDatabase,
  repository: RepositoryRow,
  hits: readonly { number: number; score: number }[],
): RetrievedChunk[] {
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
