/**
 * A store of one machine whose blobs are being moved: from another blob store into the database, or out of it (B1). No other process has the
 * file open meanwhile. Every step can be repeated, so a move that was killed goes on where it ended.
 */
import { sql, type Transaction } from "kysely";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { Step } from "../domain/step.ts";
import type { Turn } from "../domain/turn.ts";
import type { RecordStore } from "../records/record-store.ts";
import { recordsFault } from "../records/sql/faults.ts";
import { selectTurn } from "../records/sql/rows/turn-row.ts";
import type { BlobsToSeal } from "../records/sql/sqlite/sealed/sealed-ends.ts";
import { openSqlite, type SqliteEngine } from "../records/sql/sqlite/sqlite.ts";
import type { Tables } from "../records/sql/tables.ts";
import { stateEntries } from "../records/state-bytes.ts";
import type { BlobWrite } from "../records/turn-store.ts";
import { EmbeddedBlobs } from "./embedded-blobs.ts";
import { folderOf } from "./packed-blobs.ts";

export interface MovingStore {
  records: RecordStore;
  blobs: BlobStore;
  turnIds(): Promise<string[]>;
  /**
   * Puts these blobs of the other store into the database, and removes all others from it that stand alone. `last` is written when all
   * others are.
   */
  take(
    from: BlobStore,
    keys: { all: ReadonlySet<string>; last: string },
    onBlob: (done: number) => void,
  ): Promise<void>;
  /** Forgets what is in memory, so that everything is read from the file again. */
  forget(): void;
  /** Removes all blobs from the database. */
  drop(): Promise<void>;
  /** Gives back the room that is empty. */
  shrink(): Promise<void>;
  close(): Promise<void>;
}

/** How many bytes of blobs, and how many turns, one transaction takes. */
const batchBytesMax = 8_388_608;
const batchTurnsMax = 64;

/** Throws `data_in_use` if another process has the file open. */
export async function openMovingStore(file: string): Promise<MovingStore> {
  const { engine, records } = await openSqlite({ file, isAlone: true });
  const { db, dialect } = engine;
  const blobs = new EmbeddedBlobs(engine);
  // A seed and the entries of a history stand in ancestors, which are packed first.
  const turnIds = async (): Promise<string[]> => {
    const rows = await db.selectFrom("turns").select("id").orderBy("depth").orderBy("id").execute();
    return rows.map(({ id }) => id);
  };
  return {
    records,
    blobs,
    turnIds,
    take: async (from, keys, onBlob) =>
      await new BlobTaker({ engine, blobs, from, onBlob }).take(await turnIds(), keys),
    forget: () => dialect.ends.contents.forget(),
    async drop() {
      await db.transaction().execute(async (tx) => {
        await tx.updateTable("contents").set({ blobs: null }).where("blobs", "is not", null).execute();
        await tx.deleteFrom("blobs").execute();
      });
      dialect.ends.contents.forget();
    },
    shrink: () => shrink(engine),
    close: () => records.close(),
  };
}

async function shrink({ db }: SqliteEngine): Promise<void> {
  try {
    await db.connection().execute(async (connection) => {
      const { rows } = await sql<{ auto_vacuum: number }>`pragma auto_vacuum`.execute(connection);
      if (rows[0]?.auto_vacuum === 2) return await sql`pragma incremental_vacuum`.execute(connection);
      // A file of an earlier version cannot give back single pages until it is written anew.
      await sql`pragma auto_vacuum = incremental`.execute(connection);
      return await sql`vacuum`.execute(connection);
    });
  } catch (error) {
    throw recordsFault("the empty room of the database could not be given back", error);
  }
}

interface Taking {
  engine: SqliteEngine;
  blobs: EmbeddedBlobs;
  from: BlobStore;
  onBlob(done: number): void;
}

/** The blobs of one turn that go into its content. */
interface FoundTurn {
  turn: Exclude<Turn, { status: "pending" }>;
  steps: Step[];
  put: BlobWrite[];
}

class BlobTaker {
  readonly #of: Taking;
  #done = 0;

  constructor(of: Taking) {
    this.#of = of;
  }

  async take(turnIds: readonly string[], { all, last }: { all: ReadonlySet<string>; last: string }): Promise<void> {
    const { engine, blobs } = this.#of;
    await this.#dropOthers(all);
    let batch: FoundTurn[] = [];
    let bytes = 0;
    const write = async (): Promise<void> => {
      const found = batch;
      [batch, bytes] = [[], 0];
      if (found.length > 0) await engine.db.transaction().execute((tx) => this.#pack(tx, found));
    };
    for (const id of turnIds) {
      const found = await this.#find(id, all);
      if (found === null) continue;
      batch.push(found);
      bytes += found.put.reduce((sum, blob) => sum + blob.bytes.length, 0);
      if (batch.length >= batchTurnsMax || bytes >= batchBytesMax) await write();
    }
    await write();
    const stored = new Set(await blobs.list(""));
    const alone = [...all].filter((key) => !stored.has(key) && key !== last);
    if (all.has(last) && !stored.has(last)) alone.push(last);
    this.#done = all.size - alone.length;
    for (const key of alone) await this.#copy(key);
  }

  /** A move that was killed may have copied what was deleted, or became part of a turn, since. */
  async #dropOthers(all: ReadonlySet<string>): Promise<void> {
    const { engine, blobs } = this.#of;
    const gone = (await blobs.looseKeys()).filter((key) => !all.has(key));
    if (gone.length > 0) await engine.db.transaction().execute((tx) => blobs.deleteIn(tx, gone));
  }

  async #copy(key: string): Promise<void> {
    const { blobs, from, onBlob } = this.#of;
    const bytes = await from.get(key);
    if (bytes !== null) await blobs.put(key, bytes);
    onBlob((this.#done += 1));
  }

  /** Returns a turn whose content does not have its blobs yet. */
  async #find(id: string, all: ReadonlySet<string>): Promise<FoundTurn | null> {
    const { engine, blobs, from, onBlob } = this.#of;
    const turn = await selectTurn(engine.db, engine.dialect, id);
    if (turn === null || turn.status === "pending") return null;
    const steps = await engine.dialect.ends.listSteps(engine.db, engine.dialect, id);
    const names = [turn.blobs.opening, ...steps.map(({ request }) => request.blob), turn.blobs.run, turn.blobs.state];
    const keys = new Set(names.filter((key): key is string => key?.startsWith(folderOf(id)) === true && all.has(key)));
    if (await blobs.isPacked(id)) {
      onBlob((this.#done += keys.size));
      return null;
    }
    const put: BlobWrite[] = [];
    for (const key of keys) {
      const bytes = await from.get(key);
      if (bytes !== null) put.push({ key, bytes });
    }
    return put.length === 0 ? null : { turn, steps, put };
  }

  async #pack(tx: Transaction<Tables>, found: readonly FoundTurn[]): Promise<void> {
    const { engine, blobs, onBlob } = this.#of;
    for (const { turn, steps, put } of found) {
      await blobs.deleteIn(
        tx,
        put.map(({ key }) => key),
      );
      await engine.dialect.ends.addBlobs(tx, { turn, steps }, toSeal(turn, put));
      onBlob((this.#done += put.length));
    }
  }
}

function toSeal(turn: FoundTurn["turn"], put: readonly BlobWrite[]): BlobsToSeal {
  const short = (key: string): string => key.slice(folderOf(turn.id).length);
  const state = put.find(({ key }) => key === turn.blobs.state);
  const entries = state === undefined ? null : stateEntries(state.bytes);
  return {
    blobs: put.map(({ key, bytes }) => ({ key: short(key), bytes })),
    history: state === undefined || entries === null ? null : { key: short(state.key), entries },
  };
}
