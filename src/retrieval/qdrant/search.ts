/** The search (Q3): one request, in which the server ranks by vectors and by words with one filter, and fuses the rankings. */
import type { Schemas } from "@qdrant/js-client-rest";
import { AptoveError } from "../../domain/errors.ts";
import type { Embedder } from "../embedding.ts";
import { cutQuestion } from "../cut-question.ts";
import { evidenceTerms, isEnough, needsEvidence } from "../evidence.ts";
import type { RetrievalQuery, RetrievedChunk } from "../retriever.ts";
import { identifierTerms, questionTerms } from "../terms.ts";
import { chunkWeight } from "../chunk-weight.ts";
import { chunkSchema, visibleChunks, termsDocument } from "./chunk-points.ts";
import { chunkCollection } from "./collections.ts";
import { searchBounds } from "./qdrant-connection.ts";
import type { Catalogue, Manifest } from "./manifest.ts";

/** The rank constant of the local index. The server's own default is 2, with which the first ranks would outweigh all others. */
const rankConstant = 60;
const questionTermsMax = 64;

/** The parts of a question that do not depend on the index. */
export interface QdrantQuestion {
  text: string;
  terms: string[];
  names: string[];
  vector: readonly number[] | null;
  /** The terms of which some must match well. Null: the question finds something in any case. */
  evidence: string[] | null;
}

export async function questionOf(query: RetrievalQuery, embedder: Embedder): Promise<QdrantQuestion | null> {
  const text = cutQuestion(query.text).toWellFormed();
  if (text.trim() === "") return null;
  const [embedded] = await embedder.embed([text]);
  const hasVector = embedded?.some((value) => value !== 0) === true;
  const terms = questionTerms(text).slice(0, questionTermsMax);
  if (terms.length === 0 && !hasVector) return null;
  const names = identifierTerms(text).slice(0, questionTermsMax);
  const evidence = needsEvidence(evidenceTerms(text), embedder) ? evidenceTerms(text).slice(0, questionTermsMax) : null;
  if (evidence?.length === 0) return null;
  return { text, terms, names, vector: hasVector ? [...embedded] : null, evidence };
}

/** Returns the chunks of the generation that the manifest names as current, best first, at most as many as requested. */
export async function searchAt(
  { connection, name }: Catalogue,
  manifest: Manifest,
  { question, query, rankWeight }: { question: QdrantQuestion; query: RetrievalQuery; rankWeight: number },
): Promise<RetrievedChunk[]> {
  const filter = visibleChunks(manifest, query);
  // The rankings are longer than the result: a chunk low in both can be better than one high in a single ranking.
  const limit = 2 * query.candidates;
  const rankings = rankingsOf(question, { filter, corpus: visibleChunks(manifest, {}), limit, rankWeight });
  const request = {
    prefetch: rankings.map(({ prefetch }) => prefetch),
    query: { rrf: { k: rankConstant, weights: rankings.map(({ weight }) => weight) } },
    // The limit includes everything that was ranked, because the server's order of equal scores may differ the next time.
    limit: limit * rankings.length,
    with_payload: true,
  };
  const collection = chunkCollection(name, manifest.dimension);
  const [{ points }, isFound] = await Promise.all([
    connection.ask(async (client) => await client.query(collection, request), searchBounds),
    hasEvidence({ connection, name }, manifest, { question, filter }),
  ]);
  if (!isFound) return [];
  const asked = { question: question.text, language: query.language };
  return points
    .map((point) => retrieved(point, manifest))
    .map((chunk) => ({ ...chunk, score: chunk.score * chunkWeight(chunk, asked) }))
    .toSorted((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1))
    .slice(0, query.candidates);
}

/**
 * Returns whether the words of the question match a chunk well enough (Q3). The server's score by words takes the place of the
 * evidence that the local index counts.
 */
async function hasEvidence(
  { connection, name }: Catalogue,
  manifest: Manifest,
  { question, filter }: { question: QdrantQuestion; filter: Schemas["Filter"] },
): Promise<boolean> {
  if (question.evidence === null) return true;
  const request = {
    query: { nearest: termsDocument(question.evidence) },
    using: "text",
    filter,
    params: { idf: { corpus: visibleChunks(manifest, {}) } },
    limit: 1,
    with_payload: false,
  };
  const collection = chunkCollection(name, manifest.dimension);
  const { points } = await connection.ask(async (client) => await client.query(collection, request), searchBounds);
  return isEnough(points[0]?.score ?? 0, manifest.chunks);
}

interface Ranking {
  prefetch: Schemas["Prefetch"];
  weight: number;
}

interface Ranked {
  filter: Schemas["Filter"];
  /** Selects the chunks among which the rarity of a term is measured: all of this index, whatever the filters. */
  corpus: Schemas["Filter"];
  limit: number;
  rankWeight: number;
}

function rankingsOf(
  { terms, names, vector }: QdrantQuestion,
  { filter, corpus, limit, rankWeight }: Ranked,
): Ranking[] {
  const byWords = (using: string, words: string[]): Ranking[] => {
    if (words.length === 0) return [];
    const query = { nearest: termsDocument(words) };
    return [{ prefetch: { query, using, filter, limit, params: { idf: { corpus } } }, weight: 1 }];
  };
  // A user who writes `moveHead` wants to see where it is defined.
  const rankings = [...byWords("text", terms), ...byWords("symbol", names)];
  if (vector === null) return rankings;
  // Chunks without similarity to the question are not found by it.
  const near = { query: { nearest: [...vector] }, using: "dense", filter, limit, score_threshold: 0 };
  return [...rankings, { prefetch: near, weight: rankWeight }];
}

function retrieved({ payload, score }: Schemas["ScoredPoint"], { repo, commit }: Manifest): RetrievedChunk {
  const found = chunkSchema.safeParse(payload);
  if (!found.success) throw new AptoveError("retrieval_failed", "Qdrant gave a point that is no chunk");
  const { chunk: id, path, language, symbol, text, hash, start, end } = found.data;
  return { id, repo, path, startLine: start, endLine: end, language, symbol, text, hash, commit, score };
}
