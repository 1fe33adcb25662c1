/** The record store over SQL: one code base for every database engine (B2). An engine provides the parts that differ. */
import type { Kysely } from "kysely";
import type { RecordStore } from "../record-store.ts";
import { wrapMethods } from "../../system/wrap-methods.ts";
import { attachmentRecords } from "./attachments.ts";
import { auditRecords } from "./audit.ts";
import { contextRecords } from "./contexts.ts";
import { deviceRecords } from "./devices.ts";
import { recordsFault, withRecordsFaults } from "./faults.ts";
import { importRecords } from "./imports.ts";
import { keyRecords } from "./keys.ts";
import { budgetRecords } from "./running/budgets.ts";
import { limitRecords } from "./running/limits.ts";
import { migrate, type MigratableEngine } from "./migrations/migrate.ts";
import { migrations, type Migration } from "./migrations/migrations.ts";
import { peopleRecords } from "./people.ts";
import { purgeRecords } from "./purges.ts";
import { questionRecords } from "./running/questions.ts";
import { runnerRecords } from "./running/runners.ts";
import { searchRecords } from "./search.ts";
import { sessionRecords } from "./sessions.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import { storageRecords } from "./storage.ts";
import { subagentRecords } from "./subagents.ts";
import { summaryRecords } from "./summaries.ts";
import type { Tables } from "./tables.ts";
import { turnRecords } from "./turns.ts";
import { unkeptRecords } from "./unkept.ts";

export interface SqlEngine extends MigratableEngine {
  db: Kysely<Tables>;
  dialect: SqlDialect;
  /** Returns the name and version of the database. */
  product(): Promise<string>;
  /** Throws `records_moved` if the data is not where it was opened. Absent: nothing can take it away while the database runs. */
  checkPlace?(): void;
  /** Retries work that failed and changed nothing, if that may succeed soon. Absent: it is never retried. */
  retry?<T>(work: () => Promise<T>): Promise<T>;
  /** The same for the opening, which may wait longer. Absent: `retry`. */
  retryOpening?<T>(work: () => Promise<T>): Promise<T>;
}

/** Opens the store, after it migrated the data if needed (B2). Closes the engine on failure. */
export async function sqlRecords(engine: SqlEngine, list: readonly Migration[] = migrations): Promise<RecordStore> {
  const { retry = (work) => work() } = engine;
  const { retryOpening = retry } = engine;
  const store = withRecordsFaults(withRetries(recordsOf(engine, list), retry));
  try {
    await retryOpening(() => migrate(engine, list));
  } catch (error) {
    await store.close();
    throw recordsFault("the records could not be opened", error);
  }
  return store;
}

function recordsOf(engine: SqlEngine, list: readonly Migration[]): RecordStore {
  const { db, dialect } = engine;
  return {
    sessions: sessionRecords(db, dialect),
    attachments: attachmentRecords(db),
    turns: turnRecords(db, dialect),
    unkept: unkeptRecords(db),
    subagents: subagentRecords(db, dialect),
    summaries: summaryRecords(db, dialect),
    runners: runnerRecords(db, dialect),
    questions: questionRecords(db, dialect),
    limits: limitRecords(db, dialect),
    budgets: budgetRecords(db, dialect),
    search: searchRecords(db, dialect),
    imports: importRecords(db, dialect),
    purges: purgeRecords(db, dialect),
    contexts: contextRecords(db, dialect),
    people: peopleRecords(db, dialect),
    keys: keyRecords(db),
    devices: deviceRecords(db, dialect),
    audit: auditRecords(db),
    storage: storageRecords(db, dialect, {
      async about() {
        return { product: await engine.product(), known: list.length, ...(await engine.readVersion(db)) };
      },
      checkPlace: engine.checkPlace,
    }),
    close: () => db.destroy(),
  };
}

/** The methods that are never retried. An import reads its turns only once. */
const triedOnce = ["imports.insert", "close"];

/** Retries failures that changed nothing. Each method is one transaction, or several of which each may be repeated. */
function withRetries(store: RecordStore, retry: NonNullable<SqlEngine["retry"]>): RecordStore {
  return wrapMethods(store, (method, name) =>
    triedOnce.includes(name) ? method : (...args) => retry(() => method(...args)),
  );
}
