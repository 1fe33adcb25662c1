/**
 * The contents of finished turns in SQLite: the words of each, and its row, its steps and its blobs in packed form (K6). A
 * content never changes, but its blobs may be added later. It is stored as the difference from its seed, the content of an
 * ancestor at a depth that is a power of two. So log2(n) contents are read for a turn of depth n at most, and a purge never
 * deletes a seed before the turns that need it (S6).
 */
import type Database from "better-sqlite3";
import { AptoveError } from "../../../../domain/errors.ts";
import { BoundedCache } from "../../../../system/bounded-cache.ts";
import type { Step } from "../../../../domain/step.ts";
import { textToSteps } from "../../steps.ts";
import { sqlite } from "../sqlite-placeholder.ts";
import { BlobPack, type StoredEntry } from "./blob-pack.ts";
import {
  damagedContent,
  noSeed,
  type ContentOwner,
  type ContentRow,
  type ContentText,
  type SealedRow,
  type Seed,
} from "./content-row.ts";
import { emptyPart, type Part } from "./parts.ts";
import { sealRow, unsealRow } from "./sealed-row.ts";

/** How much of unpacked contents a process keeps in memory, in bytes. */
const cacheBytesMax = 8_388_608;
/** How much of a seed's blobs stands before those of a turn, in bytes. */
const seedBytesMax = 65_536;

interface Statements {
  find: Database.Statement<[number], ContentRow>;
  hasBlobs: Database.Statement<[number]>;
  place: Database.Statement<[string], TurnPlace>;
  owner: Database.Statement<[number], ContentOwner>;
}

interface TurnPlace {
  depth: number;
  content_id: number | null;
  seed_id: number | null;
  /** Changes whenever a process deletes contents. */
  deletions: string | null;
}

/** The name of the fact that changes with each deletion of contents. */
export const deletionsFact = "contents_deleted";

export class Contents {
  readonly #database: Database.Database;
  #statements: Statements | null = null;
  /** The unpacked rows of contents, and the bytes of states, by content. An id is never used again. */
  readonly #rows = new BoundedCache<Part>(cacheBytesMax);
  readonly #states = new BoundedCache<Part>(cacheBytesMax);
  readonly #seeds = new BoundedCache<Seed>(cacheBytesMax);
  /** What turns added to the history, by turn. A turn that was deleted and imported again has another content. */
  readonly #entries = new BoundedCache<StoredEntry>(cacheBytesMax);
  /** The deletions of contents that the entries in memory know of. */
  #deletions: string | null = null;

  constructor(database: Database.Database) {
    this.#database = database;
  }

  /** The tables exist only after the migration, so the statements are prepared when they are used. */
  get #prepared(): Statements {
    const value = sqlite.placeholder(1);
    this.#statements ??= {
      find: this.#database.prepare(
        `select w.*, c.seed_id, c.sealed, c.blobs from words w left join contents c on c.id = w.id where w.id = ${value}`,
      ),
      hasBlobs: this.#database.prepare(`select 1 from contents where id = ${value} and blobs is not null`),
      place: this.#database.prepare(
        `select t.depth, t.content_id, c.seed_id, (select value from store_facts where name = '${deletionsFact}') as deletions
          from turns t left join contents c on c.id = t.content_id where t.id = ${value}`,
      ),
      owner: this.#database.prepare(`select id as turn_id, session_id from turns where content_id = ${value}`),
    };
    return this.#statements;
  }

  /** Returns the row and the steps of a content. Throws `records_damaged` if it is damaged. */
  row(id: number): SealedRow {
    const text = this.rowPart(id).bytes.toString();
    const end = text.indexOf("\n");
    return { doc: text.slice(0, end), steps: text.slice(end + 1) };
  }

  /** Returns the steps of a turn. */
  steps(turnId: string, id: number): Step[] {
    return this.find(id).sealed === null ? [] : textToSteps(turnId, this.row(id).steps);
  }

  rowPart(id: number): Part {
    const known = this.#rows.get(String(id));
    if (known !== undefined) return known;
    const content = this.find(id);
    const seed = content.seed_id === null ? emptyPart : this.rowPart(content.seed_id);
    const row = ownPart(this.#unsealed(content, seed));
    this.#rows.set(String(id), row, sizeOf(row));
    return row;
  }

  #unsealed(content: ContentRow, seed: Part): Part {
    try {
      return unsealRow(content.sealed ?? Buffer.alloc(0), { seed, text: content });
    } catch (cause) {
      throw this.#damaged(content.id, cause);
    }
  }

  /** Packs a row and its steps. */
  async seal({ doc, steps }: SealedRow, seed: Seed, text: ContentText): Promise<{ sealed: Buffer; row: Part }> {
    return await sealRow(Buffer.from(`${doc}\n${steps}`), { seed: seed.row, text });
  }

  /** Remembers a content that was just committed. `entry` is what the turn added to the history. */
  remember(turnId: string, { id, row, entry }: { id: number; row: Part; entry: Uint8Array | null }): void {
    this.#rows.set(String(id), ownPart(row), sizeOf(row));
    if (entry !== null) this.#entries.set(turnId, { id, bytes: ownMemory(entry) }, entry.length);
  }

  /** Forgets what is in memory, so that everything is read from the file again. */
  forget(): void {
    for (const cache of [this.#rows, this.#states, this.#seeds, this.#entries]) cache.clear();
  }

  /** Returns the seed of a child of this turn. */
  async seedBelow(parentId: string | null): Promise<Seed> {
    const parent = parentId === null ? undefined : this.#placeOf(parentId);
    if (parent === undefined || parent.content_id === null) return noSeed;
    const isPowerOfTwo = (parent.depth & (parent.depth - 1)) === 0;
    const id = isPowerOfTwo ? parent.content_id : (parent.seed_id ?? parent.content_id);
    // A turn that ends does not fail because an earlier one is damaged. Turns of version 2 were not sealed.
    return await this.#seed(id).catch(() => noSeed);
  }

  /** Another process may have deleted the turns whose entries are in memory; what it imported then has the same ids. */
  #placeOf(turnId: string): TurnPlace | undefined {
    const place = this.#prepared.place.get(turnId);
    if (place === undefined || place.deletions === this.#deletions) return place;
    this.#entries.clear();
    this.#deletions = place.deletions;
    return place;
  }

  /** Returns the seed of a stored content. */
  async seedOf({ seed_id }: ContentRow): Promise<Seed> {
    return seed_id === null ? noSeed : await this.#seed(seed_id);
  }

  async #seed(id: number): Promise<Seed> {
    const known = this.#seeds.get(String(id));
    if (known !== undefined) return known;
    const content = this.find(id);
    const row = this.rowPart(id);
    if (content.blobs === null) return { id, row, blobs: null };
    const state = await this.ownState(content);
    const packed = await this.#packedOthers(content);
    const others = ownPart({ ...packed, short: packed.short.subarray(0, seedBytesMax) });
    const seed = { id, row, blobs: { state, others } };
    this.#seeds.set(String(id), seed, sizeOf(row) + sizeOf(state) + sizeOf(others));
    return seed;
  }

  /** Returns the bytes of the state that the content itself has. */
  async ownState(content: ContentRow): Promise<Part> {
    const known = this.#states.get(String(content.id));
    if (known !== undefined) return known;
    const seed = (await this.seedOf(content)).blobs;
    const state = ownPart(this.#unpack(content.id, () => this.pack(content).ownState({ text: content, seed })));
    this.#states.set(String(content.id), state, sizeOf(state));
    return state;
  }

  /** Returns all blobs of the content but the state, as one. */
  async others(content: ContentRow): Promise<Buffer> {
    const packed = await this.#packedOthers(content);
    return this.#unpack(content.id, () => this.pack(content).others(packed));
  }

  async #packedOthers(content: ContentRow): Promise<Part> {
    const seed = (await this.seedOf(content)).blobs;
    const around = { text: content, row: this.rowPart(content.id), seed };
    const ownState = await this.ownState(content);
    try {
      return await this.pack(content).packedOthers(around, ownState);
    } catch (cause) {
      throw this.#damaged(content.id, cause);
    }
  }

  /** Returns the whole state of a content. */
  async state(content: ContentRow): Promise<Buffer> {
    const pack = this.pack(content);
    const entries: Uint8Array[] = [];
    for (const id of pack.refs) entries.push(await this.ownEntry(id));
    const ownState = await this.ownState(content);
    return this.#unpack(content.id, () => pack.state(ownState.bytes, entries));
  }

  /**
   * Throws an error if the bytes of the state in the content are damaged, or a content that has the rest is missing. `known` are
   * contents that were found before; those that are found now are added.
   */
  async checkState(content: ContentRow, known: Set<number>): Promise<void> {
    await this.ownState(content);
    for (const id of this.pack(content).refs) {
      if (known.has(id)) continue;
      if (this.#prepared.hasBlobs.get(id) === undefined) throw this.#damaged(id, "its blobs are gone");
      known.add(id);
    }
  }

  /** Returns the entry that a turn added to the history. */
  async ownEntry(id: number): Promise<Uint8Array> {
    const content = this.find(id);
    if (content.blobs === null) throw this.#damaged(id, "its blobs are gone");
    return this.pack(content).ownEntry((await this.ownState(content)).bytes);
  }

  /** Returns what a turn added to the history, and the content that has it. Null: no content has it. */
  async entryOf(turnId: string): Promise<StoredEntry | null> {
    const known = this.#entries.get(turnId);
    if (known !== undefined) return known;
    const id = this.#placeOf(turnId)?.content_id ?? null;
    if (id === null || this.find(id).blobs === null) return null;
    const entry = { id, bytes: ownMemory(await this.ownEntry(id)) };
    if (entry.bytes.length === 0) return null;
    this.#entries.set(turnId, entry, entry.bytes.length);
    return entry;
  }

  pack({ id, blobs }: ContentRow): BlobPack {
    return this.packOf(id, blobs ?? Buffer.alloc(0));
  }

  packOf(id: number, blobs: Uint8Array): BlobPack {
    return this.#unpack(id, () => new BlobPack(blobs));
  }

  find(id: number): ContentRow {
    const content = this.#prepared.find.get(id);
    if (content === undefined) throw this.#damaged(id, "it is missing");
    return content;
  }

  #damaged(id: number, cause: unknown): AptoveError {
    return damagedContent({ id, owner: this.#prepared.owner.get(id) }, cause);
  }

  #unpack<T>(id: number, work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw cause instanceof AptoveError ? cause : this.#damaged(id, cause);
    }
  }
}

/**
 * Returns the part in memory of its own. Short buffers of Node share blocks of 64 KB, so one that is kept would keep the whole block.
 */
function ownPart({ bytes, short, values }: Part): Part {
  const own = ownMemory(bytes);
  return { bytes: own, short: short === bytes ? own : ownMemory(short), values };
}

function ownMemory(bytes: Uint8Array): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}

function sizeOf({ bytes, short, values }: Part): number {
  return bytes.length + short.length + values.reduce((sum, { length }) => sum + length, 0);
}
