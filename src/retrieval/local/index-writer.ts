/** The rows of one repository while a run writes them. Everything happens inside the run's transaction. */
import { newId } from "../../domain/ids.ts";
import type { FileChunk } from "../file-chunks.ts";
import { repositoryRow, type IndexDatabase } from "./index-file.ts";
import { chunkTerms, PostingsWriter } from "./postings.ts";

export interface FileRow {
  id: number;
  path: string;
  language: string;
  /** 1 if the file has chunks. The other values are reasons why it has none. */
  is_text: 0 | 1 | 2 | 3;
  hash: string;
  stamp: string;
  looked_at: number;
}

export interface ChunkRow extends FileChunk {
  fileId: number;
}

export interface RepositoryFacts {
  orgId: string;
  repo: string;
  root: string;
  commit: string | null;
  model: string;
  dimension: number;
}

export class IndexWriter {
  readonly #database: IndexDatabase;
  readonly #repositoryId: number;
  readonly #statements: ReturnType<typeof prepare>;
  readonly #postings: PostingsWriter;
  /** True once a chunk was added or removed. Then readers have to load their vectors again. */
  #hasChanged = false;

  constructor(database: IndexDatabase, facts: RepositoryFacts) {
    this.#database = database;
    this.#repositoryId = repositoryRow(database, facts)?.id ?? insertRepository(database, facts);
    this.#statements = prepare(database);
    this.#postings = new PostingsWriter(database, this.#repositoryId);
  }

  /** Deletes every file and chunk of the repository. */
  clear(): void {
    const id = this.#repositoryId;
    this.#postings.clear();
    this.#database.exec(
      `DELETE FROM vectors WHERE number IN (SELECT number FROM chunks WHERE repository_id = ${id});
       DELETE FROM chunks WHERE repository_id = ${id};
       DELETE FROM files WHERE repository_id = ${id};`,
    );
    this.#hasChanged = true;
  }

  files(): Map<string, FileRow> {
    return new Map(this.#statements.files.all(this.#repositoryId).map((row) => [row.path, row]));
  }

  /** Inserts a file and returns its id. */
  insertFile(file: Omit<FileRow, "id">): number {
    const { path, language, is_text, hash, stamp, looked_at } = file;
    const facts = [this.#repositoryId, path, language, is_text, hash, stamp, looked_at];
    return Number(this.#statements.insertFile.run(...facts).lastInsertRowid);
  }

  updateFile(id: number, file: Omit<FileRow, "id">): void {
    const { language, is_text, hash, stamp, looked_at } = file;
    this.#statements.updateFile.run(language, is_text, hash, stamp, looked_at, id);
  }

  removeFile(id: number): void {
    for (const number of this.chunksOf(id).values()) this.removeChunk(number);
    this.#statements.removeFile.run(id);
  }

  /** Returns the row numbers of a file's chunks by chunk id. */
  chunksOf(fileId: number): Map<string, number> {
    return new Map(this.#statements.chunksOf.all(fileId).map(({ id, number }) => [id, number]));
  }

  insertChunk(chunk: ChunkRow, vector: Float32Array): void {
    const { fileId, id, startLine, endLine, symbol, text, hash } = chunk;
    const columns = [this.#repositoryId, fileId, id, startLine, endLine];
    const terms = chunkTerms(chunk);
    const inserted = this.#statements.insertChunk.run(...columns, symbol, text, hash, terms.length);
    const number = Number(inserted.lastInsertRowid);
    this.#statements.insertVector.run(number, bytesOf(vector));
    this.#postings.add(number, terms.counts);
    this.#hasChanged = true;
  }

  /** Moves an unchanged chunk to other lines. Neither its vector nor its terms change. */
  moveChunk(number: number, startLine: number, endLine: number): void {
    this.#statements.moveChunk.run(startLine, endLine, number);
  }

  removeChunk(number: number): void {
    this.#statements.removeVector.run(number);
    this.#statements.removeChunk.run(number);
    this.#hasChanged = true;
  }

  /** Returns the number of files with chunks, and the number of chunks. */
  counts(): { files: number; chunks: number } {
    return this.#statements.counts.get(this.#repositoryId, this.#repositoryId) ?? { files: 0, chunks: 0 };
  }

  /** Writes the facts about the repository at the end of the run. */
  finish(facts: RepositoryFacts, indexedAt: number): void {
    for (const _ of this.finishInSlices(facts, indexedAt)) continue;
  }

  /** Finishes, and yields after each slice of the work, so that other work of the process can run. */
  *finishInSlices(facts: RepositoryFacts, indexedAt: number): Generator<void> {
    const { root, commit, model, dimension } = facts;
    yield* this.#postings.finishInSlices();
    this.#statements.finish.run(root, commit, model, dimension, indexedAt, this.#repositoryId);
    if (this.#hasChanged) this.#statements.setGeneration.run(newId(), this.#repositoryId);
  }
}

function insertRepository(database: IndexDatabase, facts: RepositoryFacts): number {
  const insert = database.prepare(
    `INSERT INTO repositories (org_id, name, root, commit_id, model, dimension, generation, indexed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
  );
  const { orgId, repo, root, commit, model, dimension } = facts;
  return Number(insert.run(orgId, repo, root, commit, model, dimension, newId()).lastInsertRowid);
}

function prepare(database: IndexDatabase) {
  return {
    files: database.prepare<[number], FileRow>("SELECT * FROM files WHERE repository_id = ?"),
    insertFile: database.prepare<(string | number)[]>(
      `INSERT INTO files (repository_id, path, language, is_text, hash, stamp, looked_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    updateFile: database.prepare<(string | number)[]>(
      "UPDATE files SET language = ?, is_text = ?, hash = ?, stamp = ?, looked_at = ? WHERE id = ?",
    ),
    removeFile: database.prepare<[number]>("DELETE FROM files WHERE id = ?"),
    chunksOf: database.prepare<[number], { id: string; number: number }>(
      "SELECT id, number FROM chunks WHERE file_id = ?",
    ),
    insertChunk: database.prepare<(string | number | null)[]>(
      `INSERT INTO chunks (repository_id, file_id, id, start_line, end_line, symbol, text, hash, terms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertVector: database.prepare<[number | bigint, Uint8Array]>("INSERT INTO vectors VALUES (?, ?)"),
    moveChunk: database.prepare<[number, number, number]>(
      "UPDATE chunks SET start_line = ?, end_line = ? WHERE number = ?",
    ),
    removeVector: database.prepare<[number]>("DELETE FROM vectors WHERE number = ?"),
    removeChunk: database.prepare<[number]>("DELETE FROM chunks WHERE number = ?"),
    counts: database.prepare<[number, number], { files: number; chunks: number }>(
      `SELECT (SELECT count(*) FROM files WHERE repository_id = ? AND is_text = 1) AS files,
              (SELECT count(*) FROM chunks WHERE repository_id = ?) AS chunks`,
    ),
    finish: database.prepare<(string | number | null)[]>(
      "UPDATE repositories SET root = ?, commit_id = ?, model = ?, dimension = ?, indexed_at = ? WHERE id = ?",
    ),
    setGeneration: database.prepare<[string, number]>("UPDATE repositories SET generation = ? WHERE id = ?"),
  };
}

/** Returns the bytes of a vector. They are little-endian, as on every platform that Node runs on. */
function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
