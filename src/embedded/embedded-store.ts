/**
 * The store of one machine: rows and blobs in one SQLite file (B1, K5). A turn is opened in one transaction and ends in one, so
 * it waits for the disk twice, and a crash leaves neither a lie nor garbage.
 */
import type { Transaction } from "kysely";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { RecordStore } from "../records/record-store.ts";
import { recordsFault } from "../records/sql/faults.ts";
import { insertStep } from "../records/sql/steps.ts";
import { allSteps, endWith } from "../records/sql/sqlite/sealed/sealed-ends.ts";
import { openSqlite, type SqliteEngine, type SqliteOptions } from "../records/sql/sqlite/sqlite.ts";
import type { Tables } from "../records/sql/tables.ts";
import { finishPrepared } from "../records/sql/ends/finish-turn.ts";
import { openRow } from "../records/sql/running/open-turn.ts";
import type { BlobWrite, TurnStore } from "../records/turn-store.ts";
import type { StoreCheck } from "./check-store.ts";
import { EmbeddedBlobs, type NewTurn } from "./embedded-blobs.ts";

export interface EmbeddedStore {
  /** `close` closes the file, and with it everything here. */
  records: RecordStore;
  blobs: BlobStore;
  turnStore: TurnStore;
  /** Reads everything, and returns what is damaged. */
  check(onTurn?: (done: number, total: number) => void): Promise<StoreCheck>;
}

/** Opens the file. Creates it if it does not exist (mode 0600, its folder 0700). */
export async function openEmbeddedStore(options: SqliteOptions): Promise<EmbeddedStore> {
  const { engine, records } = await openSqlite(options);
  const blobs = new EmbeddedBlobs(engine);
  engine.dialect.ends.blobs = blobs;
  const check: EmbeddedStore["check"] = async (onTurn) => {
    const { checkStore } = await import("./check-store.ts");
    return await checkStore({ engine, records, blobs }, onTurn);
  };
  return { records, blobs, turnStore: turnStore(engine, blobs), check };
}

function turnStore(engine: SqliteEngine, blobs: EmbeddedBlobs): TurnStore {
  const { db, unsynced, dialect } = engine;
  const putAll = async (
    tx: Transaction<Tables>,
    { writes, ...of }: { writes: readonly BlobWrite[]; newTurn?: NewTurn },
  ): Promise<void> => {
    for (const write of writes) await blobs.putIn(tx, { ...write, ...of });
  };
  return {
    open: (opening, writes) =>
      named("turns.open", () => {
        const also = (tx: Transaction<Tables>): Promise<void> => putAll(tx, { writes, newTurn: opening.turn });
        return openRow(db, dialect, { opening, also });
      }),
    advance: ({ runnerId, step, survives }, writes) =>
      named("turns.advance", () =>
        (survives === "power loss" ? db : unsynced).transaction().execute(async (tx) => {
          if (step !== null && !(await insertStep(tx, dialect, { step, runnerId }))) return false;
          await putAll(tx, { writes });
          return true;
        }),
      ),
    finish: (finish, { put, drop, history }, mayGoOn) =>
      named("turns.finish", async () => {
        const all = await allSteps(db, finish);
        const { loose, toSeal } = await blobs.ofTurn(db, { turn: finish.turn, steps: all, put, history });
        const content = await dialect.ends.seal({ ...finish, steps: all }, toSeal, mayGoOn);
        const end = endWith(dialect.ends.contents, finish, { content, all });
        const also = async (tx: Transaction<Tables>): Promise<void> => {
          await blobs.deleteIn(tx, loose);
          for (const prefix of drop) await blobs.dropIn(tx, prefix);
        };
        await mayGoOn?.();
        return await finishPrepared(db, dialect, { finish, end, also });
      }),
  };
}

async function named<T>(method: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw recordsFault(`the records failed at ${method}`, error);
  }
}
