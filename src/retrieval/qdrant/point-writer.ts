/** The writes of a run, in batches: chunks with their vectors, versions of files, and marks on removed chunks. */
import type { Schemas } from "@qdrant/js-client-rest";
import type { Embedder } from "../embedding.ts";
import { embeddedText, type FileChunk } from "../file-chunks.ts";
import { wrongDimension } from "../index-errors.ts";
import { chunkPoint, chunkPointId, markableChunks } from "./chunk-points.ts";
import { chunkCollection } from "./collections.ts";
import { filePoint, type FileRecord } from "./file-records.ts";
import { runBounds } from "./index-lease.ts";
import type { Catalogue, IndexKey, Manifest } from "./manifest.ts";

const filesPerBatch = 256;
const marksPerBatch = 1_000;
const chunksPerBatchMax = 256;
/** The size of one request's body, in bytes. The server accepts 32 MB. A number of a vector has about 20 characters. */
const batchBytes = 8_388_608;
const numberBytes = 22;
const chunkBytes = 24_576;

export interface WriterContext {
  catalogue: Catalogue;
  embedder: Embedder;
  /** The manifest when the run took the lease. */
  former: Manifest;
  generation: number;
  signal: AbortSignal;
}

interface WaitingChunk {
  chunk: FileChunk;
  language: string;
}

export class PointWriter {
  readonly #context: WriterContext;
  readonly #key: IndexKey;
  readonly #collection: string;
  readonly #chunksPerBatch: number;
  #fresh: WaitingChunk[] = [];
  #moved: (WaitingChunk & { from: string })[] = [];
  #files: FileRecord[] = [];
  #dying: string[] = [];
  #written = 0;

  constructor(context: WriterContext) {
    const { catalogue, embedder, former } = context;
    this.#context = context;
    this.#key = { orgId: former.org, repo: former.repo };
    this.#collection = chunkCollection(catalogue.name, embedder.dimension);
    const fitting = Math.floor(batchBytes / (embedder.dimension * numberBytes + chunkBytes));
    this.#chunksPerBatch = Math.min(chunksPerBatchMax, Math.max(1, fitting));
  }

  /** Adds a chunk. `movedFrom` is the generation that wrote the same chunk at other lines; then it is not embedded again. Null if it is new. */
  async addChunk(
    chunk: FileChunk,
    { language, movedFrom }: { language: string; movedFrom: number | null },
  ): Promise<void> {
    if (movedFrom === null) this.#fresh.push({ chunk, language });
    else this.#moved.push({ chunk, language, from: chunkPointId(this.#key, { id: chunk.id, born: movedFrom }) });
    if (this.#moved.length >= this.#chunksPerBatch) await this.#writeMoved();
    if (this.#fresh.length >= this.#chunksPerBatch) await this.#writeFresh();
  }

  async addFile(record: FileRecord): Promise<void> {
    this.#files.push(record);
    if (this.#files.length >= filesPerBatch) await this.#writeFiles();
  }

  /** Marks the chunks as removed from this run's generation on. */
  async markRemoved(chunks: FileRecord["chunks"]): Promise<void> {
    for (const chunk of chunks) this.#dying.push(chunkPointId(this.#key, chunk));
    if (this.#dying.length >= marksPerBatch) await this.#writeMarks();
  }

  /** The number of chunks that are written so far. */
  get written(): number {
    return this.#written;
  }

  /** Writes everything that is collected. Returns the number of new chunks. */
  async finish(): Promise<number> {
    await this.#writeMoved();
    await this.#writeFresh();
    await this.#writeFiles();
    await this.#writeMarks();
    return this.#written;
  }

  async #writeMoved(): Promise<void> {
    const batch = this.#moved;
    this.#moved = [];
    if (batch.length === 0) return;
    const { catalogue, signal } = this.#context;
    const question = { ids: batch.map(({ from }) => from), with_payload: false, with_vector: ["dense"] };
    const found = await catalogue.connection.ask(
      async (client) => await client.retrieve(this.#collection, question),
      runBounds(signal),
    );
    const vectors = new Map(found.map(({ id, vector }) => [id, denseOf(vector)]));
    // A chunk without a vector contains no words, or was deleted. Embedding it again is right in both cases.
    this.#fresh.push(...batch.filter(({ from }) => vectors.get(from) === undefined));
    const points = batch.flatMap(({ chunk, language, from }) => {
      const vector = vectors.get(from);
      return vector === undefined ? [] : [this.#point({ chunk, language }, vector)];
    });
    await this.#upsert(this.#collection, points);
  }

  async #writeFresh(): Promise<void> {
    while (this.#fresh.length > 0) {
      const batch = this.#fresh.splice(0, this.#chunksPerBatch);
      const { embedder, signal } = this.#context;
      const texts = batch.map(({ chunk }) => embeddedText(chunk));
      const vectors = await embedder.embed(texts, signal);
      const points = batch.map((waiting, at) => {
        const vector = vectors[at];
        if (vector?.length !== embedder.dimension) throw wrongDimension(embedder);
        return this.#point(waiting, [...vector]);
      });
      await this.#upsert(this.#collection, points);
      this.#written += batch.length;
    }
  }

  async #writeFiles(): Promise<void> {
    const points = this.#files.map((record) => filePoint(this.#key, record));
    this.#files = [];
    await this.#upsert(this.#context.catalogue.name, points as Schemas["PointStruct"][]);
  }

  async #writeMarks(): Promise<void> {
    const { catalogue, former, generation, embedder, signal } = this.#context;
    const ids = this.#dying;
    this.#dying = [];
    // Chunks of another dimension are in another collection, which is cleared as a whole after this run.
    if (former.dimension !== embedder.dimension) return;
    for (let at = 0; at < ids.length; at += marksPerBatch) {
      const filter = markableChunks(former, ids.slice(at, at + marksPerBatch));
      const mark = { payload: { died: generation }, filter, wait: true, ordering: "strong" as const };
      await catalogue.connection.ask(
        async (client) => await client.setPayload(this.#collection, mark),
        runBounds(signal),
      );
    }
  }

  #point({ chunk, language }: WaitingChunk, vector: readonly number[]): Schemas["PointStruct"] {
    return chunkPoint(this.#key, { chunk, born: this.#context.generation, language, vector });
  }

  async #upsert(collection: string, points: Schemas["PointStruct"][]): Promise<void> {
    if (points.length === 0) return;
    const { catalogue, signal } = this.#context;
    const upsert = { points, wait: true, ordering: "strong" as const };
    await catalogue.connection.ask(async (client) => await client.upsert(collection, upsert), runBounds(signal));
  }
}

function denseOf(vector: unknown): number[] | undefined {
  const dense = (vector as { dense?: unknown } | null | undefined)?.dense;
  return Array.isArray(dense) && dense.length > 0 ? (dense as number[]) : undefined;
}
