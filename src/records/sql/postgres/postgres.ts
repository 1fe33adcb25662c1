/**
 * PostgreSQL, for a team on several machines. The `pg` package is loaded only when a store is opened, so an embedded
 * program without PostgreSQL does not load it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Kysely, sql, type Transaction } from "kysely";
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import { asLibpq } from "../../../system/addresses/postgres-url.ts";
import type { RecordStore } from "../../record-store.ts";
import { isUndefinedTable } from "../faults.ts";
import type { DataVersion } from "../migrations/migrate.ts";
import type { Migration } from "../migrations/migrations.ts";
import { postgresDialect } from "./postgres-driver.ts";
import { postgres } from "./postgres-placeholder.ts";
import { isAway, isRetryable } from "../postgres-faults.ts";
import { plainEnds } from "../ends/plain-ends.ts";
import { unmetText } from "../plain/conditions.ts";
import { plain, type PlainSql } from "../plain/plain-sql.ts";
import { sqlRecords, type SqlEngine } from "../sql-records.ts";
import type { Tables } from "../tables.ts";

export interface PostgresOptions {
  /** The connection URL in libpq's form, including `sslmode` and the certificate files. */
  url: string;
  /** The schema of the tables. It is created if it does not exist. Absent: the user's search path decides. */
  schema?: string;
  /** The maximum number of open connections, and how long a caller waits for one, in milliseconds. */
  poolMax?: number;
  connectMs?: number;
  /** The server ends a statement, a wait for a lock, and an idle transaction after these times, in milliseconds. */
  statementMs?: number;
  lockMs?: number;
  idleInTransactionMs?: number;
  /** The system checks whether the server is alive after this many milliseconds without traffic. */
  keepAliveMs?: number;
  /** The name that the server's list of sessions shows. */
  applicationName?: string;
  /** How long an operation that changed nothing is retried, and how long the outcome of an unanswered commit is asked for, in milliseconds. */
  retryMs?: number;
  settleMs?: number;
  /** How long opening waits for a server that does not answer yet, in milliseconds. `onWait` is called once with the reason. */
  openMs?: number;
  onWait?: (reason: unknown) => void;
  /** Called once with a function that returns the current use of the connections. */
  onPool?: (use: () => PoolUse) => void;
  /** Migrations instead of the program's own, to test upgrades between versions. */
  migrations?: readonly Migration[];
}

/** The number of connections. `waiting` is the number of calls that wait for one. */
export interface PoolUse {
  open: number;
  idle: number;
  waiting: number;
}

/** The key of the migration lock. Its value does not matter, but every process must use the same one. */
const migrationLock = 4_711_260_001;
const bigintOid = 20;
/**
 * Writes a temporary file of 70 KB, because the rows take more than `work_mem`. It lies in the tablespace of the database, and ends with the
 * statement. A table would not do: what was deleted from it is room for the next rows. If the operator allows no temporary files, nothing is
 * known.
 */
const temporaryFile = sql`
  do $$ begin
    perform set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true);
    perform count(*) from generate_series(1, 5000);
  exception when configuration_limit_exceeded then null;
  end $$`;
/** The condition must depend on rows: PostgreSQL computes what is constant while it plans, and that would fail always. */
const check = (condition: PlainSql): PlainSql =>
  plain([`select cast(case when `, ` then '1' else '${unmetText}' end as integer)`], condition);
/** How long to wait after the server's own statement timeout before giving the connection up. */
const answerMarginMs = 5_000;

const defaults = {
  poolMax: limits.recordsPoolMax,
  connectMs: limits.recordsConnectMs,
  statementMs: limits.recordsStatementMs,
  lockMs: limits.recordsLockMs,
  idleInTransactionMs: limits.recordsIdleInTransactionMs,
  keepAliveMs: limits.recordsKeepAliveMs,
  applicationName: "aptove",
  retryMs: limits.recordsRetryMs,
  settleMs: limits.recordsSettleMs,
  openMs: limits.recordsRetryMs,
};

type Settings = Required<Omit<PostgresOptions, "schema" | "migrations" | "onPool" | "onWait">> &
  Pick<PostgresOptions, "schema" | "onPool">;

export async function openPostgresRecords({
  migrations,
  onPool,
  onWait,
  ...options
}: PostgresOptions): Promise<RecordStore> {
  const settings: Settings = { ...defaults, ...options };
  const pg = (await import("pg")).default;
  const open = (over: Partial<Settings> = {}): Kysely<Tables> => openDatabase(pg, { ...settings, ...over });
  const { schema } = settings;
  const db = open(onPool === undefined ? {} : { onPool });
  const engine: SqlEngine = {
    db,
    // A migration may rewrite many rows, so its statements have no timeout.
    forMigrating: () => open({ poolMax: 1, statementMs: 0, idleInTransactionMs: 0 }),
    retry: async (work) => {
      try {
        return await retryFor(work, settings.retryMs);
      } catch (error) {
        throw isAway(error) ? unavailable(error, settings.retryMs) : error;
      }
    },
    retryOpening: (work) => retryFor(work, settings.openMs, onWait),
    // The collation of a language would order ids differently.
    idType: 'text collate "C"',
    dialect: {
      ends: plainEnds,
      lockRows: (strength) => sql.raw(`for ${strength}`),
      now: () => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
      lock: (select) => [plain`${select} for update`],
      plainNow: () => plain`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
      ...postgres,
      exclusiveLock: (name) => [plain`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`],
      check,
      rowVersion: plain`xmin::text`,
      // The version of the row is of this transaction.
      writesRow: (statement, { table, id }) => [
        statement,
        check(plain`exists (select 1 from ${plain([table])} where id = ${id} and xmin = pg_current_xact_id()::xid)`),
      ],
      takeRoom: () => temporaryFile,
      // The collation of a language would lower letters differently.
      containsWord: ({ text, folded }, word) =>
        sql`strpos(coalesce(${folded}, lower(${text} collate "C")), ${word}) > 0`,
    },
    readVersion,
    async writeVersion(tx, { version, oldest }) {
      await sql`delete from schema_version`.execute(tx);
      await sql`insert into schema_version (version, oldest) values (${version}, ${oldest})`.execute(tx);
    },
    async lock(tx) {
      await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(tx);
      if (schema !== undefined) await makeSchema(tx, schema);
      await sql`create table if not exists schema_version (version integer not null, oldest integer)`.execute(tx);
    },
    async product() {
      const { rows } = await sql<{ version: string }>`select current_setting('server_version') as version`.execute(db);
      return `PostgreSQL ${rows[0]?.version ?? ""}`;
    },
  };
  return await sqlRecords(engine, migrations);
}

/** Reads the version of the data, and changes nothing. Version 0: there is none yet. */
export async function readPostgresVersion(options: Pick<PostgresOptions, "url" | "schema">): Promise<DataVersion> {
  const pg = (await import("pg")).default;
  const db = openDatabase(pg, { ...defaults, ...options, poolMax: 1 });
  try {
    return await readVersion(db);
  } finally {
    await db.destroy();
  }
}

function openDatabase(pg: typeof import("pg").default, settings: Settings): Kysely<Tables> {
  const { url, schema, statementMs } = settings;
  const pool = new pg.Pool({
    connectionString: asLibpq(url),
    max: settings.poolMax,
    connectionTimeoutMillis: settings.connectMs,
    ...(statementMs > 0 && { query_timeout: statementMs + answerMarginMs }),
    // A statement is sent without waiting for the answers to those before it.
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: settings.keepAliveMs,
    application_name: settings.applicationName,
    // Counts and times fit a double; pg would return strings.
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        oid === bigintOid ? Number : pg.types.getTypeParser(oid, format as "text"),
    },
  });
  settings.onPool?.(() => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }));
  const session = {
    statement_timeout: String(statementMs),
    lock_timeout: String(settings.lockMs),
    idle_in_transaction_session_timeout: String(settings.idleInTransactionMs),
    // If the begin of a transaction fails, nothing that was sent behind it may write on its own.
    default_transaction_read_only: "on",
    ...(schema !== undefined && { search_path: `"${schema.replaceAll('"', '""')}"` }),
  };
  return new Kysely<Tables>({
    dialect: postgresDialect({ pool, settings: session, settleMs: settings.settleMs }),
  });
}

/**
 * Retries work that changed nothing, for a limited time: a server that restarts or fails over is soon back. `onWait` is called
 * before the first retry.
 */
async function retryFor<T>(work: () => Promise<T>, withinMs: number, onWait?: (reason: unknown) => void): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (let pause = 20, isFirst = true; ; pause = Math.min(pause * 2, 500), isFirst = false) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) || performance.now() + pause > deadline) throw error;
      if (isFirst) onWait?.(error);
    }
    await delay(pause * (0.5 + Math.random() / 2));
  }
}

/** Returns the error of a server that stayed away for as long as a request waits. */
function unavailable(error: unknown, retryMs: number): AptoveError {
  const why = error instanceof Error ? error.message : String(error);
  const facts = { retryAfterSeconds: Math.ceil(retryMs / 1_000) };
  return new AptoveError("records_unavailable", `the records cannot be used: ${why}`, { facts, cause: error });
}

/** Returns version 0 before the first migration. */
async function readVersion(db: Kysely<Tables>): Promise<DataVersion> {
  try {
    const { rows } = await sql<DataVersion>`select version, oldest from schema_version`.execute(db);
    return rows[0] ?? { version: 0, oldest: 0 };
  } catch (error) {
    if (isUndefinedTable(error)) return { version: 0, oldest: 0 };
    throw error;
  }
}

/** Creates the schema unless it exists. A user who may not create schemas can still use an existing one. */
async function makeSchema(tx: Transaction<Tables>, schema: string): Promise<void> {
  const { rows } = await sql<{ exists: boolean }>`
    select to_regnamespace(quote_ident(${schema})) is not null as exists`.execute(tx);
  if (rows[0]?.exists !== true) await sql`create schema ${sql.id(schema)}`.execute(tx);
}
