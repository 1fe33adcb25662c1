/** The record store over SQL: one code base for every engine (B2). An engine brings what the two do differently. */
import type { Kysely } from "kysely";
import type { RecordStore } from "../record-store.ts";
import { contextRecords } from "./contexts.ts";
import { auditRecords } from "./audit.ts";
import { controlRecords } from "./controls.ts";
import { deviceRecords } from "./devices.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import { withRecordsFaults } from "./faults.ts";
import { importRecords } from "./imports.ts";
import { leaseRecords } from "./leases.ts";
import { mailboxRecords } from "./mailbox.ts";
import { migrate, type MigratableEngine } from "./migrations/migrate.ts";
import { migrations, type Migration } from "./migrations/migrations.ts";
import { limitRecords } from "./limits.ts";
import { peopleRecords } from "./people.ts";
import { runRecords } from "./runs.ts";
import { searchRecords } from "./search.ts";
import { sessionRecords } from "./sessions.ts";
import { storeFacts } from "./store-facts.ts";
import type { Tables } from "./tables.ts";
import { treeRecords } from "./tree.ts";
import { turnRecords } from "./turns.ts";

export interface SqlEngine extends MigratableEngine {
  db: Kysely<Tables>;
  dialect: SqlDialect;
  /** Bytes that the data takes (B7). */
  size(): Promise<number>;
  /** Name and version of the database. */
  product(): Promise<string>;
  /** Asks again what failed and changed nothing, where that may help soon; absent: never. */
  again?<T>(work: () => Promise<T>): Promise<T>;
}

/** Migrates the data where needed (B2). On failure the engine is closed. */
export async function sqlRecords(engine: SqlEngine, list: readonly Migration[] = migrations): Promise<RecordStore> {
  const { db, dialect } = engine;
  const methods: RecordStore & { open(): Promise<void> } = {
    ...sessionRecords(db),
    ...turnRecords(db, dialect),
    ...mailboxRecords(db),
    ...treeRecords(db, dialect),
    ...importRecords(db, dialect),
    ...searchRecords(db, dialect),
    ...runRecords(db, dialect),
    ...leaseRecords(db, dialect),
    ...controlRecords(db, dialect),
    ...peopleRecords(db, dialect),
    ...deviceRecords(db, dialect),
    ...limitRecords(db, dialect),
    ...contextRecords(db),
    ...auditRecords(db),
    ...storeFacts(db),
    open: () => migrate(engine, list),
    about: async () => ({ product: await engine.product(), known: list.length, ...(await engine.readVersion(db)) }),
    size: () => engine.size(),
    close: () => db.destroy(),
  };
  const { open, ...store } = withRecordsFaults(askedAgain(methods, engine));
  try {
    await open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/** An import reads what it is given once. */
const askedOnce = ["insertImported", "close"];

/** Each method is one transaction, or several that each may be repeated: what failed and changed nothing is done again. */
function askedAgain<T extends object>(methods: T, { again }: SqlEngine): T {
  if (again === undefined) return methods;
  const wrapped = Object.entries(methods).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    askedOnce.includes(name) ? method : (...args: unknown[]) => again(() => method(...args)),
  ]);
  return Object.fromEntries(wrapped) as T;
}
