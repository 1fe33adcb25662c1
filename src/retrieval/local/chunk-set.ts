/**
 * The chunks of a repository in memory, as rows: their files, their lengths and their vectors, and the exact search in the vectors,
 * one dot product per chunk. For 100,000 chunks this takes about 10 ms, so no approximate index is needed, which would have to be
 * built and tuned and could be wrong (Q3).
 */
import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { limits } from "../../domain/limits.ts";
import { repositoryRow, type IndexDatabase, type RepositoryRow } from "./index-file.ts";

/** The number of rows that are read, and that are compared, before other work of the process runs. */
const rowsPerPage = 1_024;
const rowsPerSlice = 16_384;

export interface ChunkFilter {
  pathPrefixes?: string[];
}

/** A row of a set and its score. Higher is better. */
export interface RowHit {
  row: number;
  score: number;
}

/** A filter. Null accepts every row. */
export type RowFilter = ((row: number) => boolean) | null;

/**
 * The number of rows in a block of vectors. A block stores the first number of each vector, then the second of each, and so on.
 * So zeros in a question cost nothing, and where embeddings are hashed words most numbers of a short question are zero. For
 * dense questions it costs the same as row by row.
 */
const blockRows = 1_024;

/** How many numbers of the question are processed in one pass over a block. */
const lanes = 4;

export class ChunkSet {
  readonly generation: string;
  readonly #dimension: number;
  /** The row numbers of the chunks, ascending. */
  readonly #numbers: Float64Array;
  /** The index of each row's file in `files`. */
  readonly fileOf: Uint32Array;
  readonly files: IndexedFile[];
  /** The number of terms of each row's text, and their mean. */
  readonly lengths: Uint16Array;
  readonly #blocks: Float32Array;
  #rows = 0;

  #lengthSum = 0;

  constructor(repository: RepositoryRow, files: IndexedFile[], rowsMax: number) {
    this.generation = repository.generation;
    this.#dimension = repository.dimension;
    this.#numbers = new Float64Array(rowsMax);
    this.fileOf = new Uint32Array(rowsMax);
    this.lengths = new Uint16Array(rowsMax);
    this.files = files;
    this.#blocks = new Float32Array(Math.ceil(rowsMax / blockRows) * blockRows * this.#dimension);
  }

  /** The number of chunks. */
  get rows(): number {
    return this.#rows;
  }

  get meanLength(): number {
    return this.#lengthSum / Math.max(1, this.#rows);
  }

  /** Returns the chunk's row number in the database. */
  numberOf(row: number): number {
    return this.#numbers[row] ?? 0;
  }

  /** Returns a function that finds the row of a number, or -1. It is fast for numbers that ascend. */
  rowFinder(): (number: number) => number {
    const numbers = this.#numbers;
    const rows = this.#rows;
    let from = 0;
    return (number) => {
      if (from > 0 && (numbers[from - 1] as number) >= number) from = 0;
      let step = 1;
      while (from + step < rows && (numbers[from + step] as number) < number) step *= 2;
      let low = step === 1 ? from : from + step / 2;
      let high = Math.min(rows, from + step + 1);
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((numbers[middle] as number) < number) low = middle + 1;
        else high = middle;
      }
      from = low;
      return low < rows && numbers[low] === number ? low : -1;
    };
  }

  get bytes(): number {
    return this.#blocks.byteLength;
  }

  /** Adds a row. Rows must be added with ascending numbers. */
  add(row: { number: number; file: number; length: number; vector: Float32Array }): void {
    const at = this.#rows;
    this.#numbers[at] = row.number;
    this.fileOf[at] = row.file;
    this.lengths[at] = row.length;
    this.#lengthSum += row.length;
    let position = Math.floor(at / blockRows) * blockRows * this.#dimension + (at % blockRows);
    for (const value of row.vector) {
      this.#blocks[position] = value;
      position += blockRows;
    }
    this.#rows += 1;
  }

  /** Returns a test for the rows that a filter accepts. */
  filter(filter: ChunkFilter): RowFilter {
    if (filter.pathPrefixes === undefined) return null;
    const accepts = this.files.map((file) => isWithin(file, filter));
    return (row) => accepts[this.fileOf[row] ?? 0] === true;
  }

  /** Returns the file of a row. */
  fileAt(row: number): IndexedFile {
    const file = this.files[this.fileOf[row] ?? 0];
    assert(file !== undefined);
    return file;
  }

  /** Returns the `count` nearest rows, best first, equal ones in their order. Rows without similarity are left out. */
  async nearest(question: Float32Array, { count, accepts }: { count: number; accepts: RowFilter }): Promise<RowHit[]> {
    const best = new BestRows(count);
    const passes = passesOf(question);
    const scores = new Float32Array(blockRows);
    for (let from = 0; from < this.#rows; from += blockRows) {
      if (from % rowsPerSlice === 0 && from > 0) await nextTurn();
      this.#scoreBlock(passes, from, scores);
      const rows = Math.min(blockRows, this.#rows - from);
      for (let row = 0; row < rows; row += 1) {
        const score = scores[row] ?? 0;
        if (score > best.least && (accepts === null || accepts(from + row))) best.add({ row: from + row, score });
      }
    }
    return best.hits;
  }

  #scoreBlock(passes: Pass[], from: number, scores: Float32Array): void {
    scores.fill(0);
    for (const { dimensions, values } of passes) {
      const [a, b, c, d] = dimensions.map((dimension) => {
        const start = from * this.#dimension + dimension * blockRows;
        return this.#blocks.subarray(start, start + blockRows);
      }) as [Float32Array, Float32Array, Float32Array, Float32Array];
      const [x, y, z, w] = values;
      for (let row = 0; row < blockRows; row += 1) {
        scores[row] =
          (scores[row] as number) +
          x * (a[row] as number) +
          y * (b[row] as number) +
          z * (c[row] as number) +
          w * (d[row] as number);
      }
    }
  }
}

interface Pass {
  dimensions: number[];
  values: [number, number, number, number];
}

/** Returns the question's numbers that are not zero, four per pass. The last pass is filled up with zeros. */
function passesOf(question: Float32Array): Pass[] {
  const dimensions = Array.from(question.keys()).filter((dimension) => question[dimension] !== 0);
  const passes: Pass[] = [];
  for (let at = 0; at < dimensions.length; at += lanes) {
    const each = Array.from({ length: lanes }, (_, lane) => dimensions[at + lane] ?? null);
    const values = each.map((dimension) => (dimension === null ? 0 : (question[dimension] ?? 0)));
    passes.push({ dimensions: each.map((dimension) => dimension ?? 0), values: values as Pass["values"] });
  }
  return passes;
}

/** Returns the `count` best rows by these scores, best first, equal ones in their order. Rows with the score 0 are left out. */
export function bestRows(scores: Float32Array, { count, accepts }: { count: number; accepts: RowFilter }): RowHit[] {
  const best = new BestRows(count);
  for (let row = 0; row < scores.length; row += 1) {
    const score = scores[row] as number;
    if (score > best.least && (accepts === null || accepts(row))) best.add({ row, score });
  }
  return best.hits;
}

/** The best hits so far, sorted. */
class BestRows {
  readonly hits: RowHit[] = [];
  readonly #count: number;
  /** A hit must have more than this. */
  least = 0;

  constructor(count: number) {
    this.#count = count;
  }

  add(hit: RowHit): void {
    let low = 0;
    let high = this.hits.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.hits[middle]?.score ?? 0) < hit.score) high = middle;
      else low = middle + 1;
    }
    this.hits.splice(low, 0, hit);
    if (this.hits.length > this.#count) this.hits.pop();
    if (this.hits.length === this.#count) this.least = this.hits.at(-1)?.score ?? 0;
  }
}

function isWithin(file: { path: string }, filter: ChunkFilter): boolean {
  if (filter.pathPrefixes === undefined) return true;
  return filter.pathPrefixes.some((prefix) => {
    const folder = prefix.replace(/\/+$/, "");
    return folder === "" || file.path === folder || file.path.startsWith(`${folder}/`);
  });
}

/** The sets by repository. They are loaded at the first use, again when the index changed, and dropped when memory is short. */
export class ChunkSets {
  readonly #database: IndexDatabase;
  /** The sets, least recently used first. */
  readonly #sets = new Map<number, ChunkSet>();
  readonly #loading = new Map<number, Promise<ChunkSet>>();

  constructor(database: IndexDatabase) {
    this.#database = database;
  }

  async get(repository: RepositoryRow): Promise<ChunkSet> {
    const known = this.#sets.get(repository.id);
    if (known?.generation === repository.generation) {
      this.#keep(repository.id, known);
      return known;
    }
    let loading = this.#loading.get(repository.id);
    if (loading === undefined) {
      loading = loadChunks(this.#database, repository).finally(() => this.#loading.delete(repository.id));
      this.#loading.set(repository.id, loading);
    }
    const set = await loading;
    this.#keep(repository.id, set);
    return set;
  }

  #keep(id: number, set: ChunkSet): void {
    this.#sets.delete(id);
    this.#sets.set(id, set);
    let bytes = [...this.#sets.values()].reduce((sum, each) => sum + each.bytes, 0);
    for (const [oldest, { bytes: freed }] of this.#sets) {
      if (bytes <= limits.vectorCacheBytesMax || oldest === id) break;
      this.#sets.delete(oldest);
      bytes -= freed;
    }
  }
}

/** A file of the index. */
export interface IndexedFile {
  id: number;
  path: string;
  language: string;
}

interface VectorRow {
  number: number;
  file_id: number;
  terms: number;
  vector: Uint8Array;
}

/** Reads the vectors page by page, and starts again if a run was committed in between. */
async function loadChunks(database: IndexDatabase, repository: RepositoryRow): Promise<ChunkSet> {
  const files = database
    .prepare<[number], IndexedFile>("SELECT id, path, language FROM files WHERE repository_id = ? ORDER BY id")
    .all(repository.id);
  const placeOf = new Map(files.map((file, at) => [file.id, at]));
  const count = database.prepare<[number], number>("SELECT count(*) FROM chunks WHERE repository_id = ?").pluck();
  const total = (count.get(repository.id) as number | undefined) ?? 0;
  const set = new ChunkSet(repository, files, total);
  const page = database.prepare<[number, number, number], VectorRow>(
    `SELECT number, file_id, terms, vector FROM chunks JOIN vectors USING (number)
     WHERE repository_id = ? AND number > ? ORDER BY number LIMIT ?`,
  );
  const vector = new Float32Array(repository.dimension);
  const bytes = new Uint8Array(vector.buffer);
  let last = 0;
  for (let left = total; left > 0; await nextTurn()) {
    const rows = page.all(repository.id, last, Math.min(rowsPerPage, left));
    for (const row of rows) {
      bytes.set(row.vector);
      set.add({ number: row.number, file: placeOf.get(row.file_id) ?? 0, length: row.terms, vector });
      last = row.number;
    }
    left -= rows.length;
    if (rows.length === 0) break;
  }
  const now = repositoryRow(database, { orgId: repository.org_id, repo: repository.name });
  return now === null || now.generation === repository.generation ? set : await loadChunks(database, now);
}
