/**
 * The vectors of a repository in memory, and the exact search in them: one dot product per chunk. For 100,000 chunks this takes
 * about 20 ms, so no approximate index is needed, which would have to be built and tuned and could be wrong (Q3).
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { limits } from "../../domain/limits.ts";
import { repositoryRow, type IndexDatabase, type RepositoryRow } from "./index-file.ts";

/** The number of rows that are read, and that are compared, before other work of the process runs. */
const rowsPerPage = 1_024;
const rowsPerSlice = 16_384;

export interface ChunkFilter {
  pathPrefixes?: string[];
}

/** The row number of a chunk and its score. Higher is better. */
export interface ChunkHit {
  number: number;
  score: number;
}

/**
 * The number of rows in a block of vectors. A block stores the first number of each vector, then the second of each, and so on.
 * So zeros in a question cost nothing, and where embeddings are hashed words most numbers of a short question are zero. For
 * dense questions it costs the same as row by row.
 */
const blockRows = 1_024;

/** How many numbers of the question are processed in one pass over a block. */
const lanes = 4;

export class VectorSet {
  readonly generation: string;
  readonly #dimension: number;
  /** The row numbers of the chunks, ascending. */
  readonly #numbers: Float64Array;
  /** The index of each row's file in `#files`. */
  readonly #fileOf: Uint32Array;
  readonly #files: { path: string }[];
  readonly #blocks: Float32Array;
  #rows = 0;

  constructor(repository: RepositoryRow, files: { path: string }[], rowsMax: number) {
    this.generation = repository.generation;
    this.#dimension = repository.dimension;
    this.#numbers = new Float64Array(rowsMax);
    this.#fileOf = new Uint32Array(rowsMax);
    this.#files = files;
    this.#blocks = new Float32Array(Math.ceil(rowsMax / blockRows) * blockRows * this.#dimension);
  }

  /** The number of chunks. */
  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#blocks.byteLength;
  }

  /** Adds a row. Rows must be added with ascending numbers. */
  add(row: { number: number; file: number; vector: Float32Array }): void {
    const at = this.#rows;
    this.#numbers[at] = row.number;
    this.#fileOf[at] = row.file;
    let position = Math.floor(at / blockRows) * blockRows * this.#dimension + (at % blockRows);
    for (const value of row.vector) {
      this.#blocks[position] = value;
      position += blockRows;
    }
    this.#rows += 1;
  }

  /** Returns a test for the rows that a filter accepts. Null if it accepts every row. */
  filter(filter: ChunkFilter): ((number: number) => boolean) | null {
    if (filter.pathPrefixes === undefined) return null;
    const accepts = this.#files.map((file) => isWithin(file, filter));
    return (number) => {
      const at = indexOf(this.#numbers.subarray(0, this.#rows), number);
      return at !== -1 && accepts[this.#fileOf[at] ?? 0] === true;
    };
  }

  /** Returns the `count` nearest rows, best first, equal ones by number. Rows without similarity are left out. */
  async nearest(
    question: Float32Array,
    { count, accepts }: { count: number; accepts: ((number: number) => boolean) | null },
  ): Promise<ChunkHit[]> {
    const best: ChunkHit[] = [];
    const passes = passesOf(question);
    const scores = new Float32Array(blockRows);
    for (let from = 0; from < this.#rows; from += blockRows) {
      if (from % rowsPerSlice === 0 && from > 0) await nextTurn();
      this.#scoreBlock(passes, from, scores);
      const rows = Math.min(blockRows, this.#rows - from);
      for (let row = 0; row < rows; row += 1) {
        const score = scores[row] ?? 0;
        if (score <= (best.length < count ? 0 : (best[count - 1]?.score ?? 0))) continue;
        const number = this.#numbers[from + row] ?? 0;
        if (accepts === null || accepts(number)) insertHit(best, { number, score }, count);
      }
    }
    return best;
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

/** Inserts the hit so that `best` stays sorted and no longer than `count`. */
function insertHit(best: ChunkHit[], hit: ChunkHit, count: number): void {
  let at = best.length;
  while (at > 0 && (best[at - 1]?.score ?? 0) < hit.score) at -= 1;
  best.splice(at, 0, hit);
  if (best.length > count) best.pop();
}

function isWithin(file: { path: string }, filter: ChunkFilter): boolean {
  if (filter.pathPrefixes === undefined) return true;
  return filter.pathPrefixes.some((prefix) => {
    const folder = prefix.replace(/\/+$/, "");
    return folder === "" || file.path === folder || file.path.startsWith(`${folder}/`);
  });
}

function indexOf(numbers: Float64Array, number: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((numbers[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return numbers[low] === number ? low : -1;
}

/** Vector sets by repository. They are loaded at the first use, again when the index changed, and dropped when memory is short. */
export class VectorCache {
  readonly #database: IndexDatabase;
  /** The sets, least recently used first. */
  readonly #sets = new Map<number, VectorSet>();
  readonly #loading = new Map<number, Promise<VectorSet>>();

  constructor(database: IndexDatabase) {
    this.#database = database;
  }

  async get(repository: RepositoryRow): Promise<VectorSet> {
    const known = this.#sets.get(repository.id);
    if (known?.generation === repository.generation) {
      this.#keep(repository.id, known);
      return known;
    }
    let loading = this.#loading.get(repository.id);
    if (loading === undefined) {
      loading = loadVectors(this.#database, repository).finally(() => this.#loading.delete(repository.id));
      this.#loading.set(repository.id, loading);
    }
    const set = await loading;
    this.#keep(repository.id, set);
    return set;
  }

  #keep(id: number, set: VectorSet): void {
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

interface VectorRow {
  number: number;
  file_id: number;
  vector: Uint8Array;
}

/** Reads the vectors page by page, and starts again if a run was committed in between. */
async function loadVectors(database: IndexDatabase, repository: RepositoryRow): Promise<VectorSet> {
  const files = database
    .prepare<[number], { id: number; path: string }>("SELECT id, path FROM files WHERE repository_id = ? ORDER BY id")
    .all(repository.id);
  const placeOf = new Map(files.map((file, at) => [file.id, at]));
  const count = database.prepare<[number], number>("SELECT count(*) FROM chunks WHERE repository_id = ?").pluck();
  const total = (count.get(repository.id) as number | undefined) ?? 0;
  const set = new VectorSet(repository, files, total);
  const page = database.prepare<[number, number, number], VectorRow>(
    `SELECT number, file_id, vector FROM chunks JOIN vectors USING (number)
     WHERE repository_id = ? AND number > ? ORDER BY number LIMIT ?`,
  );
  const vector = new Float32Array(repository.dimension);
  const bytes = new Uint8Array(vector.buffer);
  let last = 0;
  for (let left = total; left > 0; await nextTurn()) {
    const rows = page.all(repository.id, last, Math.min(rowsPerPage, left));
    for (const row of rows) {
      bytes.set(row.vector);
      set.add({ number: row.number, file: placeOf.get(row.file_id) ?? 0, vector });
      last = row.number;
    }
    left -= rows.length;
    if (rows.length === 0) break;
  }
  const now = repositoryRow(database, { orgId: repository.org_id, repo: repository.name });
  return now === null || now.generation === repository.generation ? set : await loadVectors(database, now);
}
