/**
 * Retrieval from an index on this machine: one SQLite file per data folder, built-in or configured embeddings, no server
 * (Q1–Q6). Several processes may use one folder: each has a connection for reading that never waits, and opens another for
 * each run.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { AptoveError, failureOf } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { anySignal } from "../../system/abort.ts";
import type { Embedder } from "../embedding.ts";
import { embeddingMismatch, notIndexed } from "../index-errors.ts";
import { readQuestion } from "../ranking/question.ts";
import { headCommit } from "../../system/git/git-head.ts";
import type { RepositoryRuns } from "../index-runs.ts";
import {
  repositoriesOf,
  type IndexInfo,
  type IndexJob,
  type IndexProgress,
  type IndexSummary,
  type RefreshOutcome,
  type RetrievalQuery,
  type RetrievedChunk,
  type Retriever,
  type WorkingCopyIndex,
} from "../retriever.ts";
import {
  beginRun,
  beginRunIfFree,
  fileCount,
  formatOf,
  formatVersion,
  indexFault,
  openIndexFile,
  repositoryRow,
  type IndexDatabase,
  type RepositoryRow,
} from "./index-file.ts";
import { runLocalIndex } from "./index-run.ts";
import { ChunkSets } from "./chunk-set.ts";
import { RunNotes } from "./run-notes.ts";
import { searchChunks, type LocalIndex } from "./search.ts";

/** Opens the index of a folder. Creates the folder if it does not exist. Throws `storage_full` or `storage_failed`. */
export function openLocalRetriever(options: { folder: string; embedder: Embedder }): Promise<Retriever> {
  return Promise.resolve().then(() => new LocalRetriever(options.folder, options.embedder));
}

class LocalRetriever implements Retriever {
  readonly #folder: string;
  readonly #file: string;
  readonly #embedder: Embedder;
  readonly #reader: IndexDatabase;
  readonly #sets: ChunkSets;
  readonly #notes: RunNotes;
  readonly #closing = new AbortController();
  readonly #runs = new Set<Promise<unknown>>();
  readonly #refreshes = new Map<string, Promise<RefreshOutcome>>();

  constructor(folder: string, embedder: Embedder) {
    this.#folder = folder;
    this.#file = join(folder, "index.db");
    this.#embedder = embedder;
    this.#reader = openIndexFile(folder);
    this.#sets = new ChunkSets(this.#reader);
    this.#notes = new RunNotes(folder);
  }

  async search(query: RetrievalQuery): Promise<RetrievedChunk[]> {
    try {
      return await this.#search(query);
    } catch (error) {
      throw this.#fault(error);
    }
  }

  async generation(index: { orgId: string; repo: string }): Promise<string> {
    try {
      await this.#upgrade();
      const { generation, commit_id: commit, model, dimension } = this.#repository(index);
      return JSON.stringify([generation, commit, model, dimension]);
    } catch (error) {
      throw this.#fault(error);
    }
  }

  /** Returns an error that a search may throw. */
  #fault(error: unknown): AptoveError {
    if (error instanceof AptoveError && /^(?:index_|retrieval_|data_newer)/.test(error.code)) return error;
    return new AptoveError("retrieval_failed", indexFault(this.#file, error).detail, { cause: error });
  }

  async #search(query: RetrievalQuery): Promise<RetrievedChunk[]> {
    await this.#upgrade();
    const asked = repositoriesOf(query);
    const found = asked.map(({ repo, pathPrefixes }) => ({
      repository: this.#repository({ orgId: query.orgId, repo }),
      filter: pathPrefixes === undefined ? {} : { pathPrefixes },
    }));
    const question = readQuestion(query.text);
    if (question === null) return [];
    const indexes: LocalIndex[] = [];
    for (const { repository, filter } of found) {
      const set = await this.#sets.get(repository);
      indexes.push({ repository, set, accepts: set.filter(filter) });
    }
    return await searchChunks({ database: this.#reader, indexes, embedder: this.#embedder }, question, query);
  }

  /** Throws `index_missing`, `index_mismatch` or `data_newer`. */
  #repository(query: { orgId: string; repo: string }): RepositoryRow {
    const format = formatOf(this.#reader);
    const row = format === 0 ? null : repositoryRow(this.#reader, query);
    if (row === null) throw notIndexed(query.repo);
    const refusal = embeddingMismatch({ ...row, repo: row.name }, this.#embedder);
    if (refusal !== null) throw refusal;
    return row;
  }

  async index(job: IndexJob): Promise<IndexSummary> {
    const summary = await this.#track(this.#index(job, anySignal(this.#closing.signal, job.signal)));
    assert(summary !== null);
    return summary;
  }

  async #track<T>(run: Promise<T>): Promise<T> {
    this.#runs.add(run);
    try {
      return await run;
    } finally {
      this.#runs.delete(run);
    }
  }

  /** Two questions about one working copy share a run. */
  refresh(copy: WorkingCopyIndex): Promise<RefreshOutcome> {
    const key = JSON.stringify([copy.orgId, copy.repo, copy.root]);
    const running = this.#refreshes.get(key);
    if (running !== undefined) return running;
    const run = this.#track(this.#refresh(copy)).finally(() => this.#refreshes.delete(key));
    this.#refreshes.set(key, run);
    return run;
  }

  async #refresh(copy: WorkingCopyIndex): Promise<RefreshOutcome> {
    await this.#upgrade();
    const row = formatOf(this.#reader) === formatVersion ? repositoryRow(this.#reader, copy) : null;
    if (row === null || embeddingMismatch({ ...row, repo: row.name }, this.#embedder) !== null) return "missing";
    // To look at every file of a large repository takes long. What is modified there is an active file, and is sent whole.
    if (fileCount(this.#reader, row) > limits.indexRefreshFilesMax) {
      const head = await headCommit(copy.root, this.#closing.signal);
      if (head === row.commit_id && copy.root === row.root) return "current";
    }
    const summary = await this.#index(copy, this.#closing.signal, { isWaiting: false });
    return summary === null ? "busy" : "current";
  }

  /** Brings a file of an older format to this one, before anything is read from it. */
  async #upgrade(): Promise<void> {
    const format = formatOf(this.#reader);
    if (format === 0 || format === formatVersion) return;
    const writer = openIndexFile(this.#folder);
    try {
      await beginRun(writer, this.#closing.signal);
      writer.exec("COMMIT");
    } finally {
      writer.close();
    }
  }

  /** Returns null if the run is not to wait and another one writes the index. */
  async #index(job: IndexJob, signal: AbortSignal, { isWaiting = true } = {}): Promise<IndexSummary | null> {
    let writer: IndexDatabase | null = null;
    const note = this.#notes.begin(job, { isRefresh: !isWaiting });
    const onProgress = (progress: IndexProgress): void => {
      note.progress(progress);
      job.onProgress?.(progress);
    };
    try {
      signal.throwIfAborted();
      writer = openIndexFile(this.#folder);
      if (!isWaiting && !beginRunIfFree(writer)) {
        note.dropped();
        return null;
      }
      if (isWaiting) await beginRun(writer, signal);
      const summary = await runLocalIndex({
        database: writer,
        embedder: this.#embedder,
        job: { ...job, onProgress },
        signal,
      });
      signal.throwIfAborted();
      writer.exec("COMMIT");
      note.done(summary);
      return summary;
    } catch (error) {
      // Beside an index of a later version nothing is written.
      if (failureOf(error).code === "data_newer") note.dropped();
      else note.failed(error, { isAborted: signal.aborted });
      signal.throwIfAborted();
      throw indexFault(this.#file, error);
    } finally {
      // Closing rolls back an open transaction.
      writer?.close();
    }
  }

  async list(orgId: string): Promise<IndexInfo[]> {
    try {
      await this.#upgrade();
      return formatOf(this.#reader) === formatVersion ? listIndexes(this.#reader, orgId) : [];
    } catch (error) {
      throw indexFault(this.#file, error);
    }
  }

  async runs(orgId: string): Promise<RepositoryRuns[]> {
    return await this.#notes.list(orgId);
  }

  async paths({ orgId, repo }: { orgId: string; repo: string }): Promise<string[]> {
    try {
      await this.#upgrade();
      // A file without an index has no tables.
      const paths = formatOf(this.#reader) === formatVersion ? listPaths(this.#reader, orgId, repo) : [];
      if (paths.length === 0) throw notIndexed(repo);
      return paths;
    } catch (error) {
      throw indexFault(this.#file, error);
    }
  }

  /** Aborts the runs of this retriever, and waits for them. */
  async close(): Promise<void> {
    this.#closing.abort(new AptoveError("shutting_down", "the index is being closed"));
    await Promise.allSettled(this.#runs);
    this.#reader.close();
  }
}

interface ListedRow extends RepositoryRow {
  files: number;
  chunks: number;
}

function listPaths(database: IndexDatabase, orgId: string, repo: string): string[] {
  const select = database.prepare<[string, string], string>(
    `SELECT f.path FROM files f JOIN repositories r ON r.id = f.repository_id
     WHERE r.org_id = ? AND r.name = ? AND f.is_text = 1 ORDER BY f.path`,
  );
  return select.pluck().all(orgId, repo);
}

function listIndexes(database: IndexDatabase, orgId: string): IndexInfo[] {
  const select = database.prepare<[string], ListedRow>(
    `SELECT r.*, (SELECT count(*) FROM files f WHERE f.repository_id = r.id AND f.is_text = 1) AS files,
       (SELECT count(*) FROM chunks c WHERE c.repository_id = r.id) AS chunks
     FROM repositories r WHERE r.org_id = ? ORDER BY r.name`,
  );
  return select.all(orgId).map((row) => ({
    repo: row.name,
    root: row.root,
    commit: row.commit_id,
    files: row.files,
    chunks: row.chunks,
    embedding: { model: row.model, dimension: row.dimension },
    indexedAt: row.indexed_at,
  }));
}
