/**
 * One run of the indexer (Q1, Q2): it lists what git tracks, finds what changed, cuts that into chunks, embeds the new ones, and
 * writes them. It works inside one transaction that the caller begins, commits or rolls back.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sha256 } from "../../domain/ids.ts";
import { languageOf } from "../../domain/language.ts";
import { limits } from "../../domain/limits.ts";
import { filesOf } from "../commit-files.ts";
import type { Embedder } from "../embedding.ts";
import { embeddedText, fileChunks } from "../file-chunks.ts";
import { readSource } from "../indexed-files.ts";
import type { IndexSkipReason, UnindexedFile } from "../unindexed-file.ts";
import { embeddingMismatch, wrongDimension } from "../index-errors.ts";
import type { FileFacts, RepositoryFiles } from "../repository-files.ts";
import type { IndexJob, IndexProgress, IndexSummary } from "../retriever.ts";
import { repositoryRow, type IndexDatabase } from "./index-file.ts";
import { IndexWriter, type ChunkRow, type FileRow } from "./index-writer.ts";

/** A file that was changed this shortly before it was checked may change again under the same stamp. */
const stampTrustMs = 2_000;
const filesPerSlice = 256;
const chunksPerBatch = 256;
const chunksPerSlice = 32;

export interface LocalRunContext {
  database: IndexDatabase;
  embedder: Embedder;
  job: IndexJob;
  signal: AbortSignal;
}

export async function runLocalIndex(context: LocalRunContext): Promise<IndexSummary> {
  const { database, embedder, job, signal } = context;
  const row = repositoryRow(database, job);
  const known = row === null || job.rebuild === true ? null : { ...row, repo: row.name };
  const refusal = known === null ? null : embeddingMismatch(known, embedder);
  if (refusal !== null) throw refusal;
  const files = await filesOf(job, signal);
  try {
    return await indexFiles(context, files);
  } finally {
    files.close();
  }
}

async function indexFiles(context: LocalRunContext, files: RepositoryFiles): Promise<IndexSummary> {
  const { database, embedder, job } = context;
  const startedAt = performance.now();
  const { model, dimension } = embedder;
  const { orgId, repo } = job;
  const { root, commit } = files;
  const facts = { orgId, repo, root, commit, model, dimension };
  const writer = new IndexWriter(database, facts);
  if (job.rebuild === true) writer.clear();
  const run = new IndexRun(context, writer, files);
  await run.compare();
  await run.writeChanges();
  run.progress("writing");
  writer.finish(facts, Date.now());
  const counts = writer.counts();
  const durationMs = Math.round(performance.now() - startedAt);
  return {
    ...run.counts,
    skipped: run.skipped,
    repo,
    commit,
    filesTotal: counts.files,
    chunksTotal: counts.chunks,
    durationMs,
  };
}

interface ChangedFile {
  disk: FileFacts;
  known: FileRow | undefined;
}

class IndexRun {
  readonly counts = {
    filesChanged: 0,
    filesRemoved: 0,
    chunksWritten: 0,
    bytesRead: 0,
  };
  /** The files that are not indexed. */
  readonly skipped: UnindexedFile[];
  readonly #context: LocalRunContext;
  readonly #writer: IndexWriter;
  readonly #files: RepositoryFiles;
  readonly #changed: ChangedFile[] = [];
  /** New chunks that have no vectors yet. */
  #batch: ChunkRow[] = [];
  #filesDone = 0;
  #filesTotal = 0;

  constructor(context: LocalRunContext, writer: IndexWriter, files: RepositoryFiles) {
    this.#context = context;
    this.#writer = writer;
    this.#files = files;
    this.skipped = [...files.skipped];
  }

  progress(phase: IndexProgress["phase"]): void {
    const { onProgress } = this.#context.job;
    onProgress?.({
      phase,
      filesDone: this.#filesDone,
      filesTotal: this.#filesTotal,
      bytesDone: this.counts.bytesRead,
      chunksWritten: this.counts.chunksWritten,
    });
  }

  /** Checks every tracked file, removes deleted ones from the index, and collects those that have to be read. */
  async compare(): Promise<void> {
    const known = this.#writer.files();
    this.#filesTotal = this.#files.paths.length;
    for (const path of this.#files.paths) {
      if (this.#filesDone % filesPerSlice === 0) await this.#pause("listing");
      this.#filesDone += 1;
      const disk = this.#files.stat(path);
      if (disk === null) continue;
      if (disk.sizeBytes > limits.indexedFileBytesMax) {
        this.skipped.push({ path, reason: "too_large" });
        continue;
      }
      const row = known.get(path);
      known.delete(path);
      if (row === undefined || !isSameFile(row, disk)) this.#changed.push({ disk, known: row });
      else if (row.is_text !== 1) this.skipped.push({ path, reason: storedReasons[row.is_text] });
    }
    for (const row of known.values()) this.#remove(row);
  }

  async writeChanges(): Promise<void> {
    this.#filesDone = 0;
    this.#filesTotal = this.#changed.length;
    for (const file of this.#changed) {
      await this.#pause("chunking");
      await this.#writeFile(file);
      this.#filesDone += 1;
      if (this.#batch.length >= chunksPerBatch) await this.#writeBatch();
    }
    await this.#writeBatch();
  }

  /** Lets other work of the process run, and throws if the run was aborted. */
  async #pause(phase: IndexProgress["phase"]): Promise<void> {
    await nextTurn();
    this.#context.signal.throwIfAborted();
    this.progress(phase);
  }

  #remove(row: FileRow): void {
    this.#writer.removeFile(row.id);
    if (row.is_text === 1) this.counts.filesRemoved += 1;
  }

  async #writeFile({ disk, known }: ChangedFile): Promise<void> {
    const lookedAt = Date.now();
    const content = await this.#files.read(disk.path);
    if (content === null) {
      if (known !== undefined) this.#remove(known);
      return;
    }
    this.counts.bytesRead += content.byteLength;
    const hash = sha256(content);
    const source = readSource(disk.path, content);
    const text = "text" in source ? source.text : null;
    if ("reason" in source) this.skipped.push({ path: disk.path, reason: source.reason });
    const language = languageOf(disk.path);
    const is_text = "reason" in source ? storedAs(source.reason) : 1;
    const facts: Omit<FileRow, "id"> = {
      path: disk.path,
      language,
      is_text,
      hash,
      stamp: disk.stamp,
      looked_at: lookedAt,
    };
    if (known !== undefined) this.#writer.updateFile(known.id, facts);
    const fileId = known?.id ?? this.#writer.insertFile(facts);
    if (known?.hash === hash && known.language === language) return;
    if (text !== null || known?.is_text === 1) this.counts.filesChanged += 1;
    await this.#writeChunks({ id: fileId, path: disk.path, language, text: text ?? "" });
  }

  /** Compares the chunks of a file with those of its former version. Equal ones only get new lines (Q2). */
  async #writeChunks(file: { id: number; path: string; language: string; text: string }): Promise<void> {
    const former = this.#writer.chunksOf(file.id);
    for (const chunk of await fileChunks({ ...file, repo: this.#context.job.repo })) {
      const number = former.get(chunk.id);
      former.delete(chunk.id);
      if (number !== undefined) this.#writer.moveChunk(number, chunk.startLine, chunk.endLine);
      else this.#batch.push({ ...chunk, fileId: file.id });
    }
    for (const number of former.values()) this.#writer.removeChunk(number);
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    if (batch.length === 0) return;
    const { embedder, signal } = this.#context;
    const vectors = await embedder.embed(batch.map(embeddedText), signal);
    for (const [at, chunk] of batch.entries()) {
      if (at % chunksPerSlice === 0) await this.#pause("chunking");
      const vector = vectors[at];
      if (vector?.length !== embedder.dimension) throw wrongDimension(embedder);
      this.#writer.insertChunk(chunk, vector);
      this.counts.chunksWritten += 1;
    }
  }
}

/** Why the content of a file is not indexed, by the value of the column `is_text`. */
const storedReasons = { 0: "binary", 2: "minified", 3: "generated" } as const;

function storedAs(reason: IndexSkipReason): FileRow["is_text"] {
  return reason === "minified" ? 2 : reason === "generated" ? 3 : 0;
}

function isSameFile(row: FileRow, disk: FileFacts): boolean {
  return row.stamp === disk.stamp && disk.changedAt < row.looked_at - stampTrustMs;
}
