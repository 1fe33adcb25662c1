/**
 * One run of the indexer over an index in Qdrant (Q1, Q2). It finds the files that changed since the current generation, writes
 * their new chunks with vectors, marks removed chunks, and at the very end changes the manifest. Until then no search sees any
 * of it, and if the run ends before, no search ever does.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sha256 } from "../../domain/ids.ts";
import { languageOf } from "../../domain/language.ts";
import { limits } from "../../domain/limits.ts";
import { fileChunks } from "../file-chunks.ts";
import { readSource } from "../indexed-files.ts";
import type { UnindexedFile } from "../unindexed-file.ts";
import type { FileFacts, RepositoryFiles } from "../repository-files.ts";
import type { IndexJob, IndexProgress } from "../retriever.ts";
import type { FileRecord } from "./file-records.ts";
import type { PointWriter } from "./point-writer.ts";

const filesPerSlice = 256;

export interface QdrantRunContext {
  job: IndexJob;
  files: RepositoryFiles;
  /** The generation that the run writes. */
  generation: number;
  writer: PointWriter;
  signal: AbortSignal;
}

export class IndexRun {
  readonly counts = {
    filesChanged: 0,
    filesRemoved: 0,
    chunksWritten: 0,
    bytesRead: 0,
  };
  /** The files that are not indexed. */
  readonly skipped: UnindexedFile[];
  /** The numbers of files with chunks, and of chunks, after the run. */
  readonly after = { files: 0, chunks: 0 };
  readonly #context: QdrantRunContext;
  readonly #known: ReadonlyMap<string, FileRecord>;
  readonly #toRead: FileFacts[] = [];
  /** True if unchanged files and chunks are kept. False in a rebuild. */
  readonly #mayKeep: boolean;
  #filesDone = 0;
  #filesTotal = 0;

  /** `known` has the files of the current generation, by path. */
  constructor(context: QdrantRunContext, known: ReadonlyMap<string, FileRecord>) {
    this.#context = context;
    this.#known = known;
    this.#mayKeep = context.job.rebuild !== true;
    this.skipped = [...context.files.skipped];
  }

  progress(phase: IndexProgress["phase"]): void {
    const [filesDone, filesTotal] = [this.#filesDone, this.#filesTotal];
    const { job, writer } = this.#context;
    const bytesDone = this.counts.bytesRead;
    job.onProgress?.({ phase, filesDone, filesTotal, bytesDone, chunksWritten: writer.written });
  }

  /** Checks every file, marks removed ones, and collects those that have to be read. */
  async compare(): Promise<void> {
    const { files } = this.#context;
    const gone = new Map(this.#known);
    this.#filesTotal = files.paths.length;
    for (const path of files.paths) {
      if (this.#filesDone % filesPerSlice === 0) await this.#pause("listing");
      this.#filesDone += 1;
      const facts = files.stat(path);
      if (facts === null) continue;
      if (facts.sizeBytes > limits.indexedFileBytesMax) {
        this.skipped.push({ path, reason: "too_large" });
        continue;
      }
      const known = gone.get(path);
      gone.delete(path);
      // The stamp of a working copy means nothing on another machine, but a git object is the same everywhere.
      if (known !== undefined && this.#mayKeep && isObject(facts.stamp) && known.stamp === facts.stamp)
        this.#keep(known);
      else this.#toRead.push(facts);
    }
    for (const record of gone.values()) await this.#remove(record);
  }

  async writeChanges(): Promise<void> {
    this.#filesDone = 0;
    this.#filesTotal = this.#toRead.length;
    for (const facts of this.#toRead) {
      await this.#pause("chunking");
      await this.#writeFile(facts);
      this.#filesDone += 1;
    }
    await this.#pause("chunking");
    this.counts.chunksWritten = await this.#context.writer.finish();
  }

  /** Lets other work of the process run, and throws if the run was aborted. */
  async #pause(phase: IndexProgress["phase"]): Promise<void> {
    await nextTurn();
    this.#context.signal.throwIfAborted();
    this.progress(phase);
  }

  #keep({ path, isText, skipped, chunks }: Pick<FileRecord, "path" | "isText" | "skipped" | "chunks">): void {
    if (isText) this.after.files += 1;
    else this.skipped.push({ path, reason: skipped ?? "binary" });
    this.after.chunks += chunks.length;
  }

  async #remove(record: FileRecord): Promise<void> {
    if (record.isText) this.counts.filesRemoved += 1;
    const { writer, generation } = this.#context;
    await writer.markRemoved(record.chunks);
    await writer.addFile({ ...record, born: generation, isRemoved: true, chunks: [] });
  }

  async #writeFile({ path, stamp }: FileFacts): Promise<void> {
    const known = this.#known.get(path);
    const content = await this.#context.files.read(path);
    if (content === null) {
      if (known !== undefined) await this.#remove(known);
      return;
    }
    this.counts.bytesRead += content.byteLength;
    const hash = sha256(content);
    const language = languageOf(path);
    if (this.#mayKeep && known?.hash === hash && known.language === language) return this.#keep(known);
    const source = readSource(path, content);
    const text = "text" in source ? source.text : null;
    const skipped = "reason" in source ? { skipped: source.reason } : {};
    const isText = text !== null;
    if (isText || known?.isText === true) this.counts.filesChanged += 1;
    const chunks = await this.#writeChunks({ path, language, text: text ?? "" }, known);
    this.#keep({ path, isText, ...skipped, chunks });
    const born = this.#context.generation;
    const kept = isObject(stamp) ? stamp : "";
    await this.#context.writer.addFile({
      path,
      born,
      isRemoved: false,
      isText,
      ...skipped,
      language,
      hash,
      stamp: kept,
      chunks,
    });
  }

  /** Compares the chunks of a file with those of its former version. Equal ones stay, or only move (Q2). */
  async #writeChunks(
    file: { path: string; language: string; text: string },
    known: FileRecord | undefined,
  ): Promise<FileRecord["chunks"]> {
    const { writer, job, generation } = this.#context;
    const former = new Map(known?.chunks.map((chunk) => [chunk.id, chunk]));
    // If the language of a file changes, its chunks are written again, because searches filter by it.
    const mayStay = this.#mayKeep && known?.language === file.language;
    const chunks: FileRecord["chunks"] = [];
    for (const chunk of await fileChunks({ ...file, repo: job.repo })) {
      const { id, startLine: start, endLine: end } = chunk;
      const formerChunk = former.get(id);
      const isSame = formerChunk !== undefined && mayStay;
      if (isSame && formerChunk.start === start && formerChunk.end === end) {
        former.delete(id);
        chunks.push(formerChunk);
        continue;
      }
      await writer.addChunk(chunk, { language: file.language, movedFrom: isSame ? formerChunk.born : null });
      chunks.push({ id, born: generation, start, end });
    }
    await writer.markRemoved([...former.values()]);
    return chunks;
  }
}

function isObject(stamp: string): boolean {
  return stamp.startsWith("git:");
}
