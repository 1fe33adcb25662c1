/**
 * The search (Q3): one request, in which the server ranks by words and by vectors with one filter, and one for the chunks that are
 * left when the rankings are fused and ordered as every driver's are.
 */
import type { Schemas } from "@qdrant/js-client-rest";
import { z } from "zod";
import { AptoveError } from "../../domain/errors.ts";
import type { Embedder } from "../embedding.ts";
import { evidenceTerms, isEnough, needsEvidence } from "../evidence.ts";
import { fuseRankings, orderChunks, rankingDepth } from "../ranking/order-chunks.ts";
import { readQuestion, type Question } from "../ranking/question.ts";
import type { RetrievalQuery, RetrievedChunk } from "../retriever.ts";
import { chunkSchema, visibleChunks, termsDocument } from "./chunk-points.ts";
import { chunkCollection } from "./collections.ts";
import { searchBounds } from "./qdrant-connection.ts";
import type { Catalogue, Manifest } from "./manifest.ts";

/** The terms of a ranking that are sent to the server. */
const rankingTermsMax = 128;
const evidenceTermsMax = 64;

/** The parts of a question that do not depend on the index. */
export interface QdrantQuestion {
  question: Question;
  vector: readonly number[] | null;
  /** The terms of which some must match well. Null: the question finds something in any case. */
  evidence: string[] | null;
}

export async function questionOf(query: RetrievalQuery, embedder: Embedder): Promise<QdrantQuestion | null> {
  const question = readQuestion(query.text);
  if (question === null) return null;
  const terms = evidenceTerms(question.text);
  // A question about tests or documents is about the repository.
  const isNeeded = question.isAbout.size === 0 && needsEvidence(terms, embedder);
  const evidence = isNeeded ? terms.slice(0, evidenceTermsMax) : null;
  if (evidence?.length === 0) return null;
  const [embedded] = await embedder.embed([question.text]);
  const hasVector = embedded?.some((value) => value !== 0) === true;
  if (question.rankings.length === 0 && !hasVector) return null;
  return { question, vector: hasVector ? [...embedded] : null, evidence };
}

/** A hit of a ranking. */
interface PointHit {
  id: string;
  path: string;
  language: string;
}

/** Returns the chunks of the generation that the manifest names as current, best first, at most as many as requested. */
export async function searchAt(
  { connection, name }: Catalogue,
  manifest: Manifest,
  asked: { question: QdrantQuestion; query: RetrievalQuery; rankWeight: number },
): Promise<RetrievedChunk[]> {
  const { question, query } = asked;
  const collection = chunkCollection(name, manifest.dimension);
  const rankings = rankingsOf(manifest, asked);
  const best = evidenceSearch(manifest, asked);
  const searches = [...rankings.map(({ search }) => search), ...(best === null ? [] : [best])];
  const answers = await connection.ask(
    async (client) => await client.queryBatch(collection, { searches }),
    searchBounds,
  );
  // The server does not say how many of the words a chunk has.
  const sum = answers.at(-1)?.points[0]?.score ?? 0;
  if (best !== null && !isEnough({ sum, terms: 1 }, manifest.chunks)) return [];
  const fused = fuseRankings(
    rankings.map(({ weight }, at) => ({ weight, hits: hitsOf(answers[at]?.points ?? []) })),
    ({ id }) => id,
  );
  const ordered = orderChunks(fused, question.question, query.language).slice(0, query.candidates);
  if (ordered.length === 0) return [];
  const ids = ordered.map(({ id }) => id);
  const wanted = { ids, with_payload: true };
  const points = await connection.ask(async (client) => await client.retrieve(collection, wanted), searchBounds);
  const found = new Map(points.map(({ id, payload }) => [String(id), payload]));
  // A point that is gone was removed by a run, and then the caller asks again.
  return ordered.flatMap(({ id, score }) =>
    found.has(id) ? [retrieved({ payload: found.get(id), score }, manifest)] : [],
  );
}

const hitSchema = z.object({ path: z.string(), language: z.string() });

/** Reads the hits of a ranking, best first. The server promises no order for equal scores. */
function hitsOf(points: readonly Schemas["ScoredPoint"][]): PointHit[] {
  const hits = points.map(({ id, score, payload }) => {
    const known = hitSchema.safeParse(payload);
    if (!known.success) throw noChunk();
    return { id: String(id), score, ...known.data };
  });
  return hits.toSorted((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1));
}

interface Ranking {
  search: Schemas["QueryRequest"];
  weight: number;
}

function rankingsOf(
  manifest: Manifest,
  {
    question: { question, vector },
    query,
    rankWeight,
  }: { question: QdrantQuestion; query: RetrievalQuery; rankWeight: number },
): Ranking[] {
  const filter = visibleChunks(manifest, query);
  const shown = { filter, limit: rankingDepth, with_payload: ["path", "language"] };
  const byWords = question.rankings.map(({ field, terms }) => {
    const nearest = termsDocument(terms.slice(0, rankingTermsMax));
    const using = field === "all" ? "text" : "symbol";
    return { search: { query: { nearest }, using, params: rarityIn(manifest), ...shown }, weight: 1 };
  });
  if (vector === null) return byWords;
  // Chunks without similarity to the question are not found by it.
  const near = { query: { nearest: [...vector] }, using: "dense", score_threshold: 0, ...shown };
  return [...byWords, { search: near, weight: rankWeight }];
}

/**
 * Returns the search for the chunk whose words match the question best (Q3). The server's score by words takes the place of the
 * evidence that the local index counts. Null: no evidence is needed.
 */
function evidenceSearch(
  manifest: Manifest,
  { question: { evidence }, query }: { question: QdrantQuestion; query: RetrievalQuery },
): Schemas["QueryRequest"] | null {
  if (evidence === null) return null;
  const nearest = termsDocument(evidence);
  const filter = visibleChunks(manifest, query);
  return { query: { nearest }, using: "text", params: rarityIn(manifest), filter, limit: 1, with_payload: false };
}

/** The rarity of a term is measured among all chunks of this index, whatever the filters. */
function rarityIn(manifest: Manifest): NonNullable<Schemas["QueryRequest"]["params"]> {
  return { idf: { corpus: visibleChunks(manifest, {}) } };
}

function retrieved(
  { payload, score }: { payload: unknown; score: number },
  { repo, commit }: Manifest,
): RetrievedChunk {
  const found = chunkSchema.safeParse(payload);
  if (!found.success) throw noChunk();
  const { chunk: id, path, language, symbol, text, hash, start, end } = found.data;
  return { id, repo, path, startLine: start, endLine: end, language, symbol, text, hash, commit, score };
}

function noChunk(): AptoveError {
  return new AptoveError("retrieval_failed", "Qdrant gave a point that is no chunk");
}
