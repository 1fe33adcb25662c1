/**
 * Searches, and keeps the results while the index, the filters, the question and the caller's scope are the same (Q7): a rerun, a
 * retry, or a step that asks again does not search again. The key has the generation of the index, so nothing that the index
 * has forgotten is found, and nothing must be removed.
 */
import { canonicalJson } from "../../../../system/canonical-json.ts";
import { sha256 } from "../../../../domain/ids.ts";
import { readChunks, writeChunks } from "../../../../retrieval/stored-chunks.ts";
import {
  repositoriesOf,
  type RetrievalQuery,
  type RetrievedChunk,
  type Retriever,
} from "../../../../retrieval/retriever.ts";
import type { EngineDependencies } from "../../../dependencies.ts";

export type SearchParts = Pick<EngineDependencies, "cache" | "version">;

export interface SearchResults {
  chunks: RetrievedChunk[];
  /** True if an earlier search found them, and nothing was searched now. */
  isKept: boolean;
}

/** Throws what the retriever's search throws. A cache that fails is no failure: then it searches. */
export async function keptSearch(
  { cache, version }: SearchParts,
  retriever: Retriever,
  query: RetrievalQuery,
): Promise<SearchResults> {
  const generation = cache === undefined ? null : await generationOf(retriever, query);
  if (cache === undefined || generation === null) {
    return { chunks: await retriever.search(query), isKept: false };
  }
  const key = searchKey(version, generation, query);
  const text = await cache.get(key);
  const kept = text === null ? null : readChunks(text);
  if (kept !== null) return { chunks: kept, isKept: true };
  // The generation was read first. So the results may be newer than it, but never older.
  const chunks = await retriever.search(query);
  cache.set(key, writeChunks(chunks));
  return { chunks, isKept: false };
}

/** Returns the generations of all indexes of the query. Null: the results are not kept. */
async function generationOf(retriever: Retriever, query: RetrievalQuery): Promise<string | null> {
  const { orgId } = query;
  const repositories = repositoriesOf(query);
  const generations = await Promise.all(
    repositories.map(async ({ repo }) => (await retriever.generation?.({ orgId, repo })) ?? null),
  );
  if (generations.includes(null)) return null;
  return generations.length === 1 ? (generations[0] ?? null) : JSON.stringify(generations);
}

/** Another version of the program may rank differently. */
function searchKey(version: string, generation: string, { pathPrefixes, ...query }: RetrievalQuery): string {
  const scope = pathPrefixes === undefined ? {} : { pathPrefixes: [...new Set(pathPrefixes)].toSorted() };
  return `search:${sha256(canonicalJson({ version, generation, ...query, ...scope }))}`;
}
