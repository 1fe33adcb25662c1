/**
 * Blobs in the database of the records (B1). The blobs of a finished turn are in the turn's content, all others in a table of
 * their own. So those of a turn are deleted with its row, and never alone.
 */
import { sql, type Kysely, type Transaction } from "kysely";
import { checkBlobLength, packBlob, unpackBlob } from "./blob-frame.ts";
import { blobExists, checkBlobKey, type BlobStore } from "../blobs/blob-store.ts";
import { AptoveError, failureOf } from "../domain/errors.ts";
import { stateEntries } from "../records/state-bytes.ts";
import type { Step } from "../domain/step.ts";
import type { Turn } from "../domain/turn.ts";
import { recordsFault } from "../records/sql/faults.ts";
import { plain, runPlain } from "../records/sql/plain/plain-sql.ts";
import { sqlite } from "../records/sql/sqlite/sqlite-placeholder.ts";
import type { BlobsToSeal, BlobSource } from "../records/sql/sqlite/sealed/sealed-ends.ts";
import type { SqliteEngine } from "../records/sql/sqlite/sqlite.ts";
import { folderOf, PackedBlobs } from "./packed-blobs.ts";
import type { Tables } from "../records/sql/tables.ts";
import type { BlobWrite, SharedHistory } from "../records/turn-store.ts";

/** The blobs of a turn that ends. */
interface EndingTurn {
  turn: Pick<Turn, "id" | "blobs">;
  steps: readonly Step[];
  /** The blobs that are not stored yet. */
  put: readonly BlobWrite[];
  history: SharedHistory | null;
}

export type NewTurn = Pick<Turn, "id" | "blobs">;

interface EndBlobs {
  toSeal: BlobsToSeal;
  /** The keys of those that were stored alone while the turn ran. */
  loose: string[];
}

export class EmbeddedBlobs implements BlobStore, BlobSource {
  readonly #db: Kysely<Tables>;
  readonly #packed: PackedBlobs;

  constructor(engine: SqliteEngine) {
    this.#db = engine.db;
    this.#packed = new PackedBlobs(engine);
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#named(key, "written", () => this.#db.transaction().execute((tx) => this.putIn(tx, { key, bytes })));
  }

  /** Puts a blob in a transaction. A turn that the transaction inserts has no content yet that could have the blob. */
  async putIn(tx: Kysely<Tables>, { key, bytes, newTurn }: BlobWrite & { newTurn?: NewTurn }): Promise<void> {
    checkBlobKey(key);
    checkBlobLength(key, bytes);
    const isOfNewTurn = newTurn !== undefined && key.startsWith(folderOf(newTurn.id));
    // The end of the turn takes its opening into its content. The other blobs stay where they are.
    const frame = await packBlob(bytes, { isKept: key !== newTurn?.blobs.opening });
    const packed = isOfNewTurn ? null : await this.#packed.find(tx, key);
    const kept = packed === null ? await insertOrFind(tx, key, frame) : await packed.read();
    if (kept === null) return;
    const isSame = Buffer.compare(packed === null ? await unpackBlob(key, kept) : kept, bytes) === 0;
    if (!isSame) throw blobExists(key);
  }

  async get(key: string): Promise<Uint8Array | null> {
    checkBlobKey(key);
    return await this.#named(key, "read", () => this.#read(this.#db, key));
  }

  async #read(db: Kysely<Tables>, key: string): Promise<Uint8Array | null> {
    const loose = await looseFrame(db, key);
    if (loose !== null) return await unpackBlob(key, loose);
    return (await (await this.#packed.find(db, key))?.read()) ?? null;
  }

  async size(key: string): Promise<number | null> {
    checkBlobKey(key);
    return await this.#named(key, "read", async () => {
      const loose = await this.#db
        .selectFrom("blobs")
        .select(sql<number>`length(frame)`.as("bytes"))
        .where("key", "=", key)
        .executeTakeFirst();
      return loose?.bytes ?? (await this.#packed.find(this.#db, key))?.packedLength ?? null;
    });
  }

  /** Throws `storage_failed` for a blob of a finished turn: it is deleted with its turn. */
  async delete(key: string): Promise<void> {
    checkBlobKey(key);
    await this.#named(key, "deleted", async () => {
      const { numDeletedRows } = await this.#db.deleteFrom("blobs").where("key", "=", key).executeTakeFirst();
      if (numDeletedRows > 0n || (await this.#packed.find(this.#db, key)) === null) return;
      throw new AptoveError("storage_failed", `${key} belongs to a finished turn, and is deleted with it`);
    });
  }

  async list(prefix: string): Promise<string[]> {
    return await this.#named(prefix, "listed", async () => {
      const loose = await this.#db.selectFrom("blobs").select("key").where(startsWith(prefix)).execute();
      const keys = loose.map(({ key }) => key);
      for await (const turn of this.#packed.turns(prefix)) {
        keys.push(...turn.names.map((name) => folderOf(turn.id) + name).filter((key) => key.startsWith(prefix)));
      }
      return keys;
    });
  }

  /** Returns true if the content of the turn has its blobs. */
  async isPacked(turnId: string): Promise<boolean> {
    return await this.#packed.has(turnId);
  }

  /** Returns the keys of the blobs that are stored alone. */
  async looseKeys(): Promise<string[]> {
    const rows = await this.#db.selectFrom("blobs").select("key").execute();
    return rows.map(({ key }) => key);
  }

  /**
   * Reads the stored bytes of a blob. Returns their number, or null if there is no such blob, and why they cannot be read, or null. What a
   * state has in common with earlier turns is not read with it again, but must be there. `known` are the contents that were found.
   */
  async check(key: string, known: Set<number>): Promise<{ bytes: number | null; fault: string | null }> {
    let bytes: number | null = null;
    try {
      bytes = await this.size(key);
      const packed = await this.#packed.find(this.#db, key);
      await (packed?.check(known) ?? this.#read(this.#db, key));
      return { bytes, fault: null };
    } catch (error) {
      const { code, message } = failureOf(error);
      if (code === "data_newer") return { bytes, fault: null };
      const at = message.lastIndexOf(`${key}: `);
      return { bytes, fault: at === -1 ? message : message.slice(at + key.length + 2) };
    }
  }

  async ofTurn(db: Kysely<Tables>, { turn, steps, put, history }: EndingTurn): Promise<EndBlobs> {
    const folder = folderOf(turn.id);
    const named = [turn.blobs.opening, ...steps.map(({ request }) => request.blob), turn.blobs.run, turn.blobs.state];
    const blobs = new Map(put.map(({ key, bytes }) => [key, bytes]));
    const loose: string[] = [];
    for (const key of new Set(named)) {
      if (key === null || blobs.has(key) || !key.startsWith(folder)) continue;
      const bytes = await this.#looseOrNull(db, key);
      if (bytes === null) continue;
      blobs.set(key, bytes);
      loose.push(key);
    }
    const short = (key: string): string => key.slice(folder.length);
    const toSeal = {
      blobs: [...blobs].map(([key, bytes]) => ({ key: short(key), bytes })),
      history: history === null ? null : { ...history, key: short(history.key) },
    };
    return { toSeal, loose };
  }

  /** A damaged blob stays where it is, and is named when it is read. */
  async #looseOrNull(db: Kysely<Tables>, key: string): Promise<Uint8Array | null> {
    const frame = await looseFrame(db, key);
    return frame === null ? null : await unpackBlob(key, frame).catch(() => null);
  }

  /** Takes the blobs of a turn that is inserted as a whole. */
  async take(
    tx: Transaction<Tables>,
    { turn, steps }: Pick<EndingTurn, "turn" | "steps">,
  ): Promise<BlobsToSeal | null> {
    const { loose, toSeal } = await this.ofTurn(tx, { turn, steps, put: [], history: null });
    if (loose.length === 0) return null;
    await this.deleteIn(tx, loose);
    const { state } = turn.blobs;
    const key = state === null ? null : state.slice(folderOf(turn.id).length);
    const bytes = toSeal.blobs.find((blob) => blob.key === key)?.bytes;
    const entries = bytes === undefined ? null : stateEntries(bytes);
    return { ...toSeal, history: key === null || entries === null ? null : { key, entries } };
  }

  async deleteIn(tx: Transaction<Tables>, keys: readonly string[]): Promise<void> {
    for (const key of keys) await runPlain(tx, sqlite, plain`delete from blobs where key = ${key}`);
  }

  async dropIn(tx: Transaction<Tables>, prefix: string): Promise<void> {
    await tx.deleteFrom("blobs").where(startsWith(prefix)).execute();
  }

  async #named<T>(key: string, what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw recordsFault(`the blob ${key} could not be ${what}`, error);
    }
  }
}

/** Selects the keys that begin with the prefix. Keys are lower case and digits, so the order of bytes decides. */
function startsWith(prefix: string) {
  return sql<boolean>`key >= ${prefix} and substr(key, 1, ${prefix.length}) = ${prefix}`;
}

async function looseFrame(db: Kysely<Tables>, key: string): Promise<Buffer | null> {
  const { rows } = await runPlain<{ frame: Buffer }>(db, sqlite, plain`select frame from blobs where key = ${key}`);
  return rows[0]?.frame ?? null;
}

async function insertOrFind(tx: Kysely<Tables>, key: string, frame: Buffer): Promise<Buffer | null> {
  const insert = plain`insert into blobs (key, frame) values (${key}, ${frame}) on conflict (key) do nothing`;
  const { changes } = await runPlain(tx, sqlite, insert);
  return changes === 1 ? null : await looseFrame(tx, key);
}
