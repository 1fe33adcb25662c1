/**
 * The lists of the chunks that have a term (Q3): the row numbers of these chunks, ascending, each with the term's counts in the
 * chunk's fields. A question reads only the lists of its own terms, so nothing has to be loaded first, and every chunk with one of
 * them is scored, however common the term is.
 *
 * A run writes what it added as a segment. Segments do not change: the chunks that a later run removed stay in them, and readers
 * leave them out. A segment that is less than twice as large as the one after it is merged with it, without removed chunks. So
 * there are few segments, and a small change of the repository writes little.
 */
import type Database from "better-sqlite3";
import { searchedPart } from "../file-chunks.ts";
import { termsOf } from "../terms.ts";

type IndexDatabase = Database.Database;

/** How often a term occurs in the fields of a chunk. */
export interface TermCounts {
  body: number;
  symbol: number;
  path: number;
}

/** Higher counts are stored as these, because they distinguish nothing. */
const bodyCountMax = 127;
const nameCountMax = 3;
const namesBit = 0x80;
/** The entries that a run collects in memory before it writes a segment. */
const segmentEntriesMax = 8_000_000;
/** The lists that are written at once, where other work of the process runs in between. */
const termsPerSlice = 4_096;
/** The most bytes of one entry: a row number of five bytes, and two of counts. */
const entryBytesMax = 7;

/** Returns the terms of a chunk with their counts, and the number of terms in its text. */
export function chunkTerms({ path, symbol, text }: { path: string; symbol: string | null; text: string }): {
  counts: Map<string, TermCounts>;
  length: number;
} {
  const body = termsOf(searchedPart(text));
  return { counts: termCounts({ body, symbol: termsOf(symbol ?? ""), path: termsOf(path) }), length: body.length };
}

/** Counts the terms of each field. */
function termCounts(fields: Record<keyof TermCounts, string[]>): Map<string, TermCounts> {
  const counts = new Map<string, TermCounts>();
  for (const field of ["body", "symbol", "path"] as const) {
    for (const term of fields[field]) {
      let of = counts.get(term);
      if (of === undefined) counts.set(term, (of = { body: 0, symbol: 0, path: 0 }));
      of[field] += 1;
    }
  }
  return counts;
}

/** A list that grows. */
class PostingList {
  #bytes = new Uint8Array(2 * entryBytesMax);
  #length = 0;
  #last = 0;
  count = 0;

  /** Adds a chunk. Row numbers must ascend. */
  add(number: number, { body, symbol, path }: TermCounts): void {
    if (this.#length + entryBytesMax > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#bytes.length);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    for (let rest = number - this.#last; ; rest >>>= 7) {
      this.#bytes[this.#length++] = rest < 0x80 ? rest : (rest & 0x7f) | 0x80;
      if (rest < 0x80) break;
    }
    const names = Math.min(symbol, nameCountMax) | (Math.min(path, nameCountMax) << 2);
    const inBody = Math.min(body, bodyCountMax);
    this.#bytes[this.#length++] = names === 0 ? inBody : inBody | namesBit;
    if (names !== 0) this.#bytes[this.#length++] = names;
    this.#last = number;
    this.count += 1;
  }

  get entries(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** An entry of a list: a chunk, and the counts of the term in it. */
export interface PostingEntry extends TermCounts {
  number: number;
}

/** Calls `use` for every entry of a list, in order. The object is the same each time, because there are many. */
export function readEntries(entries: Uint8Array, use: (entry: PostingEntry) => void): void {
  const entry: PostingEntry = { number: 0, body: 0, symbol: 0, path: 0 };
  for (let at = 0; at < entries.length;) {
    let byte = entries[at++] as number;
    let delta = byte & 0x7f;
    for (let shift = 7; byte >= 0x80; shift += 7) {
      byte = entries[at++] as number;
      delta |= (byte & 0x7f) << shift;
    }
    entry.number += delta;
    const counts = entries[at++] as number;
    const names = (counts & namesBit) === 0 ? 0 : (entries[at++] as number);
    entry.body = counts & bodyCountMax;
    entry.symbol = names & nameCountMax;
    entry.path = names >>> 2;
    use(entry);
  }
}

interface Segment {
  number: number;
  entries: number;
}

/** Returns the segments of a repository, oldest first. */
export function segmentsOf(database: IndexDatabase, repositoryId: number): Segment[] {
  const select = database.prepare<[number], Segment>(
    "SELECT number, entries FROM segments WHERE repository_id = ? ORDER BY number",
  );
  return select.all(repositoryId);
}

/** Writes the segments of one run, inside its transaction. */
export class PostingsWriter {
  readonly #database: IndexDatabase;
  readonly #repositoryId: number;
  #lists = new Map<string, PostingList>();
  #entries = 0;

  constructor(database: IndexDatabase, repositoryId: number) {
    this.#database = database;
    this.#repositoryId = repositoryId;
  }

  add(number: number, terms: ReadonlyMap<string, TermCounts>): void {
    for (const [term, counts] of terms) this.#listOf(term).add(number, counts);
    this.#entries += terms.size;
    if (this.#entries > segmentEntriesMax) this.#write();
  }

  /** Deletes every list of the repository. */
  clear(): void {
    for (const { number } of segmentsOf(this.#database, this.#repositoryId)) this.#remove(number);
  }

  finish(): void {
    for (const _ of this.finishInSlices()) continue;
  }

  /** Finishes, and yields after each slice of the work, so that other work of the process can run. */
  *finishInSlices(): Generator<void> {
    yield* this.#writeSlices();
    for (;;) {
      const [former, last] = segmentsOf(this.#database, this.#repositoryId).slice(-2);
      if (former === undefined || last === undefined || former.entries >= 2 * last.entries) return;
      this.#merge(former, last);
    }
  }

  #listOf(term: string): PostingList {
    let list = this.#lists.get(term);
    if (list === undefined) this.#lists.set(term, (list = new PostingList()));
    return list;
  }

  #merge(...segments: [Segment, Segment]): void {
    const isLive = this.#liveness();
    const select = this.#database.prepare<[number], { term: string; entries: Uint8Array }>(
      "SELECT term, entries FROM postings WHERE segment = ?",
    );
    for (const { number: segment } of segments) {
      for (const { term, entries } of select.iterate(segment)) {
        readEntries(entries, (entry) => {
          if (!isLive(entry.number)) return;
          this.#listOf(term).add(entry.number, entry);
          this.#entries += 1;
        });
      }
      this.#remove(segment);
    }
    this.#write();
  }

  /** Returns a test for chunks that exist. It remembers what it has read, because a chunk is in many lists. */
  #liveness(): (number: number) => boolean {
    const known = new Map<number, boolean>();
    const select = this.#database.prepare<[number], number>("SELECT 1 FROM chunks WHERE number = ?").pluck();
    return (number) => {
      let isLive = known.get(number);
      if (isLive === undefined) known.set(number, (isLive = select.get(number) !== undefined));
      return isLive;
    };
  }

  #write(): void {
    for (const _ of this.#writeSlices()) continue;
  }

  *#writeSlices(): Generator<void> {
    if (this.#entries === 0) return;
    const insertSegment = this.#database.prepare<[number, number]>(
      "INSERT INTO segments (repository_id, entries) VALUES (?, ?)",
    );
    const segment = Number(insertSegment.run(this.#repositoryId, this.#entries).lastInsertRowid);
    const insert = this.#database.prepare<[number, string, Uint8Array]>("INSERT INTO postings VALUES (?, ?, ?)");
    for (const [at, term] of [...this.#lists.keys()].toSorted().entries()) {
      insert.run(segment, term, this.#listOf(term).entries);
      if (at % termsPerSlice === termsPerSlice - 1) yield;
    }
    this.#lists = new Map();
    this.#entries = 0;
  }

  #remove(segment: number): void {
    this.#database.prepare<[number]>("DELETE FROM postings WHERE segment = ?").run(segment);
    this.#database.prepare<[number]>("DELETE FROM segments WHERE number = ?").run(segment);
  }
}
