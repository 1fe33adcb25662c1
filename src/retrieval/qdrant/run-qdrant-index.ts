/**
 * A run from beginning to end: the collections, the lease, the cleaning up after earlier runs, the changes, the switch, and the
 * cleaning up after the switch. Every deletion names generations that this run knows to be past, so a deletion that reaches the
 * server late removes nothing of a later run.
 */
import type { Schemas } from "@qdrant/js-client-rest";
import { filesOf } from "../commit-files.ts";
import type { Embedder } from "../embedding.ts";
import { embeddingMismatch } from "../index-errors.ts";
import type { RepositoryFiles } from "../repository-files.ts";
import type { IndexJob, IndexSummary } from "../retriever.ts";
import {
  neverRemoved,
  writtenUntil,
  addedByUnfinishedGeneration,
  removedUntil,
  removedByUnfinishedGeneration,
} from "./chunk-points.ts";
import { chunkCollection, ensureCollections } from "./collections.ts";
import type { RequestBounds } from "./qdrant-connection.ts";
import { readFiles } from "./file-records.ts";
import { IndexLease, runBounds, type LeaseTimes } from "./index-lease.ts";
import { IndexRun } from "./index-run.ts";
import type { Catalogue, Manifest } from "./manifest.ts";
import { PointWriter } from "./point-writer.ts";

export interface QdrantRunSetup {
  catalogue: Catalogue;
  embedder: Embedder;
  times: LeaseTimes;
  job: IndexJob;
  signal: AbortSignal;
}

const deletedPerBatch = 1_000;

/** Runs the indexer. Throws what `Retriever.index` may throw, and errors about the form of the catalogue. */
export async function runQdrantIndex(setup: QdrantRunSetup): Promise<IndexSummary> {
  const { catalogue, embedder, times, job, signal } = setup;
  signal.throwIfAborted();
  const files = await filesOf(job, signal);
  try {
    const wanted = { name: catalogue.name, dimension: embedder.dimension };
    await ensureCollections(catalogue.connection, wanted, runBounds(signal));
    const lease = await IndexLease.take(catalogue, job, { ...times, signal });
    try {
      return await runUnderLease(setup, { files, lease, signal: AbortSignal.any([signal, lease.lost.signal]) });
    } catch (error) {
      await lease.release();
      throw error;
    }
  } finally {
    files.close();
  }
}

interface RunLease {
  files: RepositoryFiles;
  lease: IndexLease;
  /** Aborts with the job, and when another run has taken the lease. */
  signal: AbortSignal;
}

async function runUnderLease(
  { catalogue, embedder, job }: QdrantRunSetup,
  { files, lease, signal }: RunLease,
): Promise<IndexSummary> {
  const startedAt = performance.now();
  const { former, generation } = lease;
  const refusal = former.current === 0 || job.rebuild === true ? null : embeddingMismatch(former, embedder);
  if (refusal !== null) throw refusal;
  const bounds = runBounds(signal);
  const known = await readFiles(catalogue, former, bounds);
  await cleanUpBefore({ catalogue, former, dimension: embedder.dimension, outdated: known.outdated }, bounds);
  const writer = new PointWriter({ catalogue, embedder, former, generation, signal });
  const run = new IndexRun({ job, files, generation, writer, signal }, known.files);
  await run.compare();
  await run.writeChanges();
  run.progress("writing");
  signal.throwIfAborted();
  const { model, dimension } = embedder;
  const { root, commit } = files;
  await lease.commit({ root, commit, model, dimension, ...run.after, indexedAt: Date.now() }, signal);
  // The index is complete. If this cleaning up fails, the next run repeats it.
  await Promise.allSettled([cleanUpAfter({ catalogue, former, dimension, generation }, { attemptsMax: 1 })]);
  const durationMs = Math.round(performance.now() - startedAt);
  const { files: filesTotal, chunks: chunksTotal } = run.after;
  return { ...run.counts, skipped: run.skipped, repo: job.repo, commit, filesTotal, chunksTotal, durationMs };
}

interface CleanupTarget {
  catalogue: Catalogue;
  former: Manifest;
  dimension: number;
}

/** Deletes what unfinished runs left, and what a finished run could not delete. */
async function cleanUpBefore(
  { catalogue, former, dimension, outdated }: CleanupTarget & { outdated: readonly string[] },
  bounds: RequestBounds,
): Promise<void> {
  const { connection, name } = catalogue;
  const collection = chunkCollection(name, dimension);
  const drop = async (filter: Schemas["Filter"] | null): Promise<void> => {
    if (filter !== null) await deleteChunks(catalogue, { collection, filter }, bounds);
  };
  if (former.current === 0 || former.dimension !== dimension) {
    // The visible chunks are in another collection, or there are none yet, so everything in this one is a leftover.
    await drop(writtenUntil(former, former.taken - 1));
  } else {
    await drop(addedByUnfinishedGeneration(former));
    const filter = removedByUnfinishedGeneration(former);
    const revive = { payload: { died: neverRemoved }, filter, wait: true, ordering: "strong" as const };
    if (filter !== null) await connection.ask(async (client) => await client.setPayload(collection, revive), bounds);
    await drop(removedUntil(former, former.current));
  }
  for (let at = 0; at < outdated.length; at += deletedPerBatch) {
    const points = outdated.slice(at, at + deletedPerBatch);
    await connection.ask(async (client) => await client.delete(name, { points, wait: true }), bounds);
  }
}

async function cleanUpAfter(
  { catalogue, former, dimension, generation }: CleanupTarget & { generation: number },
  bounds: RequestBounds,
): Promise<void> {
  if (former.current === 0) return;
  const collection = chunkCollection(catalogue.name, former.dimension);
  const isMoved = former.dimension !== dimension;
  const filter = isMoved ? writtenUntil(former, former.current) : removedUntil(former, generation);
  await deleteChunks(catalogue, { collection, filter }, bounds);
}

async function deleteChunks(
  { connection }: Catalogue,
  { collection, filter }: { collection: string; filter: Schemas["Filter"] },
  bounds: RequestBounds,
): Promise<void> {
  const deletion = { filter, wait: true, ordering: "strong" as const };
  await connection.ask(async (client) => await client.delete(collection, deletion), bounds);
}
