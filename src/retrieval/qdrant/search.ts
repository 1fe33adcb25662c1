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

/** An index that is searched, in the generation that its manifest names as current, and the filter for it. */
export interface SearchedIndex {
  manifest: Manifest;
  filter: { pathPrefixes?: string[] };
}

/** A hit of a ranking. */
interface PointHit {
  id: string;
  repo: string;
  path: string;
  language: string;
}

/** Returns the chunks of all the indexes together, best first, at most as many as requested. All are in one collection. */
export async function searchAt(
  { connection, name }: Catalogue,
  indexes: readonly SearchedIndex[],
  { question, query, rankWeight }: { question: QdrantQuestion; query: RetrievalQuery; rankWeight: number },
): Promise<RetrievedChunk[]> {
  const collection = chunkCollection(name, indexes[0]?.manifest.dimension ?? 0);
  const rankings = rankingsOf(indexes, question, rankWeight);
  const best = indexes.flatMap((index) => evidenceSearch(index, question) ?? []);
  const searches = [...rankings.map(({ search }) => search), ...best];
  const answers = await connection.ask(
    async (client) => await client.queryBatch(collection, { searches }),
    searchBounds,
  );
  const evidence = answers.slice(rankings.length).map(({ points }) => points[0]?.score ?? 0);
  // The server does not say how many of the words a chunk has.
  const searched = indexes.filter(
    ({ manifest }, at) => best.length === 0 || isEnough({ sum: evidence[at] ?? 0, terms: 1 }, manifest.chunks),
  );
  const manifests = new Map(searched.map(({ manifest }) => [manifest.repo, manifest]));
  const fused = fuseRankings(
    rankings.map(({ weight }, at) => ({
      weight,
      hits: hitsOf(answers[at]?.points ?? []).filter(({ repo }) => manifests.has(repo)),
    })),
    ({ id }) => id,
  );
  const ordered = orderChunks(fused, question.question, query.language).slice(0, query.candidates);
  if (ordered.length === 0) return [];
  const ids = ordered.map(({ id }) => id);
  const wanted = { ids, with_payload: true };
  const points = await connection.ask(async (client) => await client.retrieve(collection, wanted), searchBounds);
  const found = new Map(points.map(({ id, payload }) => [String(id), payload]));
  // A point that is gone was removed by a run, and then the caller asks again.
  return ordered.flatMap(({ id, repo, score }) => {
    const manifest = manifests.get(repo);
    return found.has(id) && manifest !== undefined ? [retrieved({ payload: found.get(id), score }, manifest)] : [];
  });
}

const hitSchema = z.object({ repo: z.string(), path: z.string(), language: z.string() });

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
  indexes: readonly SearchedIndex[],
  { question, vector }: QdrantQuestion,
  rankWeight: number,
): Ranking[] {
  const filter = anyOf(indexes.map(({ manifest, filter: own }) => visibleChunks(manifest, own)));
  const shown = { filter, limit: rankingDepth, with_payload: ["repo", "path", "language"] };
  const params = rarityIn(indexes);
  const byWords = question.rankings.map(({ field, terms }) => {
    const nearest = termsDocument(terms.slice(0, rankingTermsMax));
    const using = field === "all" ? "text" : "symbol";
    return { search: { query: { nearest }, using, params, ...shown }, weight: 1 };
  });
  if (vector === null) return byWords;
  // Chunks without similarity to the question are not found by it.
  const near = { query: { nearest: [...vector] }, using: "dense", score_threshold: 0, ...shown };
  return [...byWords, { search: near, weight: rankWeight }];
}

/**
 * Returns the search for the chunk of the index whose words match the question best (Q3). The server's score by words takes the
 * place of the evidence that the local index counts. Null: no evidence is needed.
 */
function evidenceSearch(index: SearchedIndex, { evidence }: QdrantQuestion): Schemas["QueryRequest"] | null {
  if (evidence === null) return null;
  const nearest = termsDocument(evidence);
  const filter = visibleChunks(index.manifest, index.filter);
  return { query: { nearest }, using: "text", params: rarityIn([index]), filter, limit: 1, with_payload: false };
}

/** The rarity of a term is measured among all chunks of the indexes, whatever the filters. */
function rarityIn(indexes: readonly SearchedIndex[]): NonNullable<Schemas["QueryRequest"]["params"]> {
  return { idf: { corpus: anyOf(indexes.map(({ manifest }) => visibleChunks(manifest, {}))) } };
}

function anyOf(filters: readonly Schemas["Filter"][]): Schemas["Filter"] {
  const [first, ...others] = filters;
  return first !== undefined && others.length === 0 ? first : { should: [...filters] };
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
