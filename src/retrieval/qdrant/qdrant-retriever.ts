/**
 * Retrieval from a Qdrant server, for all servers and builds of a deployment (Q1–Q6): one catalogue, and one collection of chunks
 * for each dimension. They contain the indexes of every organisation, each visible only through its own filter (H4).
 * docs/decisions/0022-an-index-in-qdrant-has-generations.md states what is guaranteed, and why it is built so.
 */
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { anySignal } from "../../system/abort.ts";
import { BoundedCache } from "../../system/bounded-cache.ts";
import type { Embedder } from "../embedding.ts";
import { embeddingMismatch, notIndexed } from "../index-errors.ts";
import {
  repositoriesOf,
  type IndexInfo,
  type IndexJob,
  type IndexSummary,
  type RetrievalQuery,
  type RetrievedChunk,
  type Retriever,
} from "../retriever.ts";
import { isMissing } from "./collections.ts";
import { QdrantConnection, searchBounds, type QdrantAddress, type RequestTimes } from "./qdrant-connection.ts";
import type { LeaseTimes } from "./index-lease.ts";
import { readFiles } from "./file-records.ts";
import { listManifests, readManifest, type Catalogue, type IndexKey, type Manifest } from "./manifest.ts";
import { runQdrantIndex } from "./run-qdrant-index.ts";
import { questionOf, searchAt, type SearchedIndex } from "./search.ts";

export interface QdrantRetrieverOptions extends QdrantAddress {
  /** The name of the catalogue. The names of the other collections begin with it. */
  collection: string;
  embedder: Embedder;
  times?: QdrantTimes;
}

export type QdrantTimes = RequestTimes & LeaseTimes;

const usualTimes: QdrantTimes = {
  requestMs: limits.qdrantRequestMsMax,
  backoffMs: limits.qdrantBackoffMs,
  leaseMs: limits.indexLeaseMs,
  waitMsMax: limits.indexWaitMsMax,
};

/** Returns the retriever without sending a request: the first search or run sends the first one. */
export function openQdrantRetriever(options: QdrantRetrieverOptions): Retriever {
  return new QdrantRetriever(options);
}

/** How often a search starts again because the index changed in the meantime. */
const searchAttemptsMax = 5;

class QdrantRetriever implements Retriever {
  readonly #catalogue: Catalogue;
  readonly #place: string;
  readonly #embedder: Embedder;
  readonly #times: QdrantTimes;
  /** The manifests as last read, by organisation and repository, least recently used first. */
  readonly #manifests = new Map<string, Manifest>();
  /** The paths of the newest generation of some indexes. The size counts paths. */
  readonly #paths = new BoundedCache<{ generation: number; paths: string[] }>(200_000);
  readonly #closing = new AbortController();
  readonly #runs = new Set<Promise<unknown>>();

  constructor({ collection, embedder, times = usualTimes, ...address }: QdrantRetrieverOptions) {
    this.#place = `${address.url} ${collection}`;
    this.#catalogue = { connection: new QdrantConnection(address, times), name: collection };
    this.#embedder = embedder;
    this.#times = times;
  }

  async search(query: RetrievalQuery): Promise<RetrievedChunk[]> {
    try {
      return await this.#search(query);
    } catch (error) {
      // The index may have been deleted or built again, so the next search reads its manifest.
      for (const { repo } of repositoriesOf(query)) this.#manifests.delete(nameOf({ orgId: query.orgId, repo }));
      throw retrievalFault(error);
    }
  }

  /** The number of a generation counts from 1 again in another collection, or if the catalogue was lost. */
  async generation(key: IndexKey): Promise<string> {
    try {
      const manifest = await this.#manifest(key);
      this.#check(manifest);
      const { org, repo, current, commit, model, dimension, indexedAt } = manifest;
      return JSON.stringify([this.#place, org, repo, current, indexedAt, commit, model, dimension]);
    } catch (error) {
      this.#manifests.delete(nameOf(key));
      throw retrievalFault(error);
    }
  }

  /**
   * Searches in the generation that was last seen as current, and checks afterwards that it still is. Then all results belong to
   * that one generation. So a search costs three requests, and a few more if the index changed.
   */
  async #search(query: RetrievalQuery): Promise<RetrievedChunk[]> {
    const { orgId } = query;
    const keys = repositoriesOf(query).map(({ repo, ...filter }) => ({ orgId, repo, filter }));
    let indexes = await Promise.all(
      keys.map(async ({ filter, ...key }): Promise<SearchedIndex> => {
        const manifest = this.#manifests.get(nameOf(key)) ?? (await this.#manifest(key));
        this.#check(manifest);
        return { manifest, filter };
      }),
    );
    const question = await questionOf(query, this.#embedder);
    if (question === null) return [];
    const rankWeight = this.#embedder.rankWeight ?? 1;
    for (let attempt = 1; attempt <= searchAttemptsMax; attempt += 1) {
      const found = await searchAt(this.#catalogue, indexes, { question, query, rankWeight });
      const now = await Promise.all(keys.map(async (key) => await this.#manifest(key)));
      if (now.every(({ current }, at) => current === indexes[at]?.manifest.current)) return found;
      now.forEach((manifest) => this.#check(manifest));
      indexes = now.map((manifest, at) => ({ manifest, filter: keys[at]?.filter ?? {} }));
    }
    throw new AptoveError("retrieval_failed", `the index of ${query.repo} keeps changing; try again`);
  }

  #check(manifest: Manifest): void {
    const refusal = embeddingMismatch(manifest, this.#embedder);
    if (refusal !== null) throw refusal;
  }

  async #manifest(key: IndexKey): Promise<Manifest> {
    const name = nameOf(key);
    const manifest = await readManifest(this.#catalogue, key, searchBounds);
    if (manifest === null || manifest.current === 0) throw notIndexed(key.repo);
    this.#manifests.delete(name);
    this.#manifests.set(name, manifest);
    const oldest = this.#manifests.keys().next();
    if (this.#manifests.size > limits.manifestsKept && oldest.done !== true) this.#manifests.delete(oldest.value);
    return manifest;
  }

  index(job: IndexJob): Promise<IndexSummary> {
    const run = this.#index(job, anySignal(this.#closing.signal, job.signal));
    this.#runs.add(run);
    const forget = (): void => void this.#runs.delete(run);
    run.then(forget, forget);
    return run;
  }

  async #index(job: IndexJob, signal: AbortSignal): Promise<IndexSummary> {
    try {
      const setup = { catalogue: this.#catalogue, embedder: this.#embedder, times: this.#times };
      return await runQdrantIndex({ ...setup, job, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw retrievalFault(error);
    }
  }

  async list(orgId: string): Promise<IndexInfo[]> {
    try {
      const manifests = await listManifests(this.#catalogue, orgId, searchBounds);
      return manifests.flatMap(({ repo, root, commit, current, files, chunks, model, dimension, indexedAt }) => {
        if (current === 0) return [];
        return [{ repo, root, commit, files, chunks, embedding: { model, dimension }, indexedAt }];
      });
    } catch (error) {
      if (isMissing(error)) return [];
      throw retrievalFault(error);
    }
  }

  /** Reads the record of each file, so the paths of a generation are kept. */
  async paths(key: IndexKey): Promise<string[]> {
    try {
      const manifest = await this.#manifest(key);
      const kept = this.#paths.get(nameOf(key));
      if (kept?.generation === manifest.current) return kept.paths;
      const { files } = await readFiles(this.#catalogue, manifest, searchBounds);
      const texts = [...files.values()].filter(({ isText }) => isText);
      const paths = texts.map(({ path }) => path).toSorted();
      this.#paths.set(nameOf(key), { generation: manifest.current, paths }, paths.length);
      return paths;
    } catch (error) {
      throw retrievalFault(error);
    }
  }

  /** Aborts the runs of this retriever, and waits for them. */
  async close(): Promise<void> {
    this.#closing.abort(new AptoveError("shutting_down", "the index is being closed"));
    await Promise.allSettled(this.#runs);
  }
}

function nameOf({ orgId, repo }: IndexKey): string {
  return JSON.stringify([orgId, repo]);
}

function retrievalFault(error: unknown): AptoveError {
  if (error instanceof AptoveError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new AptoveError("retrieval_failed", `the index in Qdrant failed: ${message}`, { cause: error });
}
