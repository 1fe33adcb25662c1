/**
 * The search in long documents, in memory (M8): the tables, the words, the vectors and the ranking of the local index, in a SQLite
 * database that no file has. It is made when the first question needs it, and made again after a restart: nothing is on a disk
 * that would have to be deleted with the document. The built-in embedding is used, which no one has to wait or pay for.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { AptoveError } from "../../domain/errors.ts";
import { languageOf } from "../../domain/language.ts";
import { limits } from "../../domain/limits.ts";
import type { DocumentQuery, DocumentSearch, LongDocument } from "../documents.ts";
import type { Embedder } from "../embedding.ts";
import { embeddedText, fileChunks, type FileChunk } from "../file-chunks.ts";
import { readQuestion } from "../ranking/question.ts";
import type { RetrievedChunk } from "../retriever.ts";
import { ChunkSets, type ChunkSet } from "./chunk-set.ts";
import { breakLines } from "./document-lines.ts";
import { beginRunIfFree, repositoryRow, type IndexDatabase, type RepositoryRow } from "./index-file.ts";
import { IndexWriter } from "./index-writer.ts";
import { searchChunks } from "./search.ts";

export function localDocuments(embedder: Embedder): DocumentSearch {
  return new LocalDocuments(embedder);
}

/** Chunks are written so many at a time, and then other work of the process runs. */
const chunksPerSlice = 32;

/** An index of documents. It never changes. */
interface DocumentIndex {
  database: IndexDatabase;
  repository: RepositoryRow;
  set: ChunkSet;
  characters: number;
}

class LocalDocuments implements DocumentSearch {
  readonly #embedder: Embedder;
  /** The indexes, least recently used first. */
  readonly #kept = new Map<string, DocumentIndex>();
  readonly #building = new Map<string, Promise<DocumentIndex>>();
  /** Ends when the last index is built. One is built at a time, which bounds the memory that it takes. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(embedder: Embedder) {
    this.#embedder = embedder;
  }

  async search({ text, documents, candidates }: DocumentQuery): Promise<RetrievedChunk[]> {
    const question = readQuestion(text);
    if (question === null || documents.length === 0) return [];
    const index = await this.#index(documents);
    const hashes = new Map(documents.map(({ name, sha256 }) => [name, sha256]));
    const { database, repository, set } = index;
    const indexes = [{ repository, set, accepts: null }];
    const query = { ...place, text, candidates };
    const found = await searchChunks({ database, indexes, embedder: this.#embedder }, question, query);
    return found.map((chunk) => ({ ...chunk, document: hashes.get(chunk.path) ?? "" }));
  }

  /** Two questions about the same documents share one index. */
  async #index(documents: readonly LongDocument[]): Promise<DocumentIndex> {
    const key = JSON.stringify(documents.map(({ name, sha256 }) => [name, sha256]).toSorted());
    let index = this.#kept.get(key);
    if (index === undefined) {
      let building = this.#building.get(key);
      if (building === undefined) {
        building = this.#last.then(() => buildIndex(documents, this.#embedder));
        this.#building.set(key, building);
        this.#last = building.catch(() => undefined).finally(() => this.#building.delete(key));
      }
      index = await building;
    }
    this.#keep(key, index);
    return index;
  }

  /** Drops the oldest indexes. Their memory is freed when no search uses them any more. */
  #keep(key: string, index: DocumentIndex): void {
    this.#kept.delete(key);
    this.#kept.set(key, index);
    let characters = [...this.#kept.values()].reduce((sum, one) => sum + one.characters, 0);
    for (const [oldest, one] of this.#kept) {
      if (characters <= limits.documentCacheCharactersMax || oldest === key) return;
      this.#kept.delete(oldest);
      characters -= one.characters;
    }
  }
}

/** The documents have no repository. Chunks of equal text under one name are the same chunk. */
const place = { orgId: "", repo: "" };

async function buildIndex(documents: readonly LongDocument[], embedder: Embedder): Promise<DocumentIndex> {
  const database = new Database(":memory:");
  try {
    beginRunIfFree(database);
    const facts = { ...place, root: "", commit: null, model: embedder.model, dimension: embedder.dimension };
    const writer = new IndexWriter(database, facts);
    let characters = 0;
    for (const document of documents) characters += await addDocument(writer, document, embedder);
    for (const _ of writer.finishInSlices(facts, 0)) await nextTurn();
    database.exec("COMMIT");
    const repository = repositoryRow(database, place);
    if (repository === null) throw new AptoveError("retrieval_failed", "the documents could not be indexed");
    const set = await new ChunkSets(database).get(repository);
    return { database, repository, set, characters };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Returns the number of characters. */
async function addDocument(writer: IndexWriter, document: LongDocument, embedder: Embedder): Promise<number> {
  const text = await document.read();
  if (text === null) return 0;
  const file = { path: document.name, is_text: 1, hash: document.sha256, stamp: "", looked_at: 0 } as const;
  const fileId = writer.insertFile({ ...file, language: languageOf(document.name) });
  for (const piece of piecesOf(text)) {
    await nextTurn();
    const chunks = await documentChunks(document.name, piece.text);
    for (let from = 0; from < chunks.length; from += chunksPerSlice) {
      await nextTurn();
      const slice = chunks.slice(from, from + chunksPerSlice);
      const vectors = await embedder.embed(slice.map(embeddedText));
      for (const [at, { startLine, endLine, ...chunk }] of slice.entries()) {
        const lines = { startLine: startLine + piece.linesBefore, endLine: endLine + piece.linesBefore };
        writer.insertChunk({ ...chunk, ...lines, fileId }, vectors[at] ?? new Float32Array(embedder.dimension));
      }
    }
  }
  return text.length;
}

/** Cuts a text at ends of lines, after an empty one if it can be, into pieces that are as large as a file of an index may be. */
function* piecesOf(text: string): Generator<{ text: string; linesBefore: number }> {
  const most = limits.indexedFileBytesMax;
  let linesBefore = 0;
  for (let from = 0; from < text.length;) {
    const rest = text.slice(from, from + most);
    const isLast = from + most >= text.length;
    const blank = rest.lastIndexOf("\n\n") + 2;
    const end = isLast ? rest.length : blank > most / 2 ? blank : rest.lastIndexOf("\n") + 1 || wholeCharacters(rest);
    const piece = rest.slice(0, end);
    yield { text: piece, linesBefore };
    for (let at = piece.indexOf("\n"); at !== -1; at = piece.indexOf("\n", at + 1)) linesBefore += 1;
    from += end;
  }
}

/** Returns the length of a text without half a character at its end. */
function wholeCharacters(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
}

async function documentChunks(path: string, text: string): Promise<FileChunk[]> {
  const broken = breakLines(text);
  const named = languageOf(path);
  // A grammar cannot read code whose lines were broken.
  const language = broken !== null && named !== "markdown" ? "plaintext" : named;
  const chunks = await fileChunks({ repo: place.repo, path, language, text: broken?.text ?? text });
  if (broken === null) return chunks;
  const { lineOf } = broken;
  return chunks.map((chunk) => ({ ...chunk, startLine: lineOf(chunk.startLine), endLine: lineOf(chunk.endLine) }));
}
