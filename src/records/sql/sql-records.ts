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
import { migrate, type MigratableEngine } from "./migrations.ts";
import { peopleRecords } from "./people.ts";
import { runRecords } from "./runs.ts";
import { searchRecords } from "./search.ts";
import { sessionRecords } from "./sessions.ts";
import type { Tables } from "./tables.ts";
import { treeRecords } from "./tree.ts";
import { turnRecords } from "./turns.ts";

export interface SqlEngine extends MigratableEngine {
  db: Kysely<Tables>;
  dialect: SqlDialect;
  /** Bytes that the data takes (B7). */
  size(): Promise<number>;
}

/** Migrates the data where needed (B2). On failure the engine is closed. */
export async function sqlRecords(engine: SqlEngine): Promise<RecordStore> {
  const { db, dialect } = engine;
  const { open, ...store } = withRecordsFaults<RecordStore & { open(): Promise<void> }>({
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
    ...contextRecords(db),
    ...auditRecords(db),
    open: () => migrate(db, engine),
    size: () => engine.size(),
    close: () => db.destroy(),
  });
  try {
    await open();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}
