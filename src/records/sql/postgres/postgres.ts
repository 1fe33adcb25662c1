/**
 * PostgreSQL, for a team on several machines. The `pg` package is loaded when a store is opened, so that the
 * embedded case does not pay for it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Kysely, sql, type Transaction } from "kysely";
import { limits } from "../../../domain/limits.ts";
import { asLibpq } from "../../../system/postgres-url.ts";
import type { RecordStore } from "../../record-store.ts";
import { isUndefinedTable } from "../faults.ts";
import type { DataVersion } from "../migrations/migrate.ts";
import type { Migration } from "../migrations/migrations.ts";
import { postgresDialect } from "./postgres-driver.ts";
import { mayAskAgain } from "../postgres-faults.ts";
import { sqlRecords, type SqlEngine } from "../sql-records.ts";
import type { Tables } from "../tables.ts";

export interface PostgresOptions {
  /** As libpq takes it, `sslmode` and the files of certificates included. */
  url: string;
  /** Holds the tables, and is made when it is not there; without it, the user's own search path says where they are. */
  schema?: string;
  /** Connections that are open at once, and until when one must be had. */
  poolMax?: number;
  connectMs?: number;
  /** After that the server ends a statement, a wait for a lock, and a transaction of which nothing is heard. */
  statementMs?: number;
  lockMs?: number;
  idleInTransactionMs?: number;
  /** After so long without traffic the system asks whether the server is still there. */
  keepAliveMs?: number;
  /** What the server's lists of sessions show. */
  applicationName?: string;
  /** Given, once, a way to ask what the connections do. */
  onPool?: (use: () => PoolUse) => void;
  /** What other versions of the program would do; for tests of upgrades. */
  migrations?: readonly Migration[];
}

/** Connections; `waiting`: calls that wait for one. */
export interface PoolUse {
  open: number;
  idle: number;
  waiting: number;
}

/** Any number will do, as long as every process takes the same one. */
const migrationLock = 4_711_260_001;
const bigintOid = 20;
/** The server ends a statement by itself; where even that is not heard, the connection is given up. */
const answerMarginMs = 5_000;

const defaults = {
  poolMax: limits.recordsPoolMax,
  connectMs: limits.recordsConnectMs,
  statementMs: limits.recordsStatementMs,
  lockMs: limits.recordsLockMs,
  idleInTransactionMs: limits.recordsIdleInTransactionMs,
  keepAliveMs: limits.recordsKeepAliveMs,
  applicationName: "aptove",
};

type Settings = Required<Omit<PostgresOptions, "schema" | "migrations" | "onPool">> &
  Pick<PostgresOptions, "schema" | "onPool">;

export async function openPostgresRecords({ migrations, onPool, ...options }: PostgresOptions): Promise<RecordStore> {
  const settings: Settings = { ...defaults, ...options };
  const pg = (await import("pg")).default;
  const open = (over: Partial<Settings> = {}): Kysely<Tables> => openDatabase(pg, { ...settings, ...over });
  const { schema } = settings;
  const db = open(onPool === undefined ? {} : { onPool });
  const engine: SqlEngine = {
    db,
    // What is to be rewritten may be much: no statement of a migration is ended for that.
    forMigrating: () => open({ poolMax: 1, statementMs: 0, idleInTransactionMs: 0 }),
    again: (work) => again(work, limits.recordsRetryMs),
    // A language's collation would order ids in its own way.
    idType: 'text collate "C"',
    dialect: {
      hold: (strength) => sql.raw(`for ${strength}`),
      now: () => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
      alone: (name) => sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`,
      // A language's collation would lower letters in its own way.
      has: ({ text, folded }, word) => sql`strpos(coalesce(${folded}, lower(${text} collate "C")), ${word}) > 0`,
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

function openDatabase(pg: typeof import("pg").default, settings: Settings): Kysely<Tables> {
  const { url, schema, statementMs } = settings;
  const pool = new pg.Pool({
    connectionString: asLibpq(url),
    max: settings.poolMax,
    connectionTimeoutMillis: settings.connectMs,
    ...(statementMs > 0 && { query_timeout: statementMs + answerMarginMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: settings.keepAliveMs,
    application_name: settings.applicationName,
    // Counts and times fit a double; pg would hand out strings.
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
    ...(schema !== undefined && { search_path: `"${schema.replaceAll('"', '""')}"` }),
  };
  return new Kysely<Tables>({
    dialect: postgresDialect({ pool, settings: session, settleMs: limits.recordsSettleMs }),
  });
}

/** Asks again what changed nothing, for a while: a server that restarts or fails over is back soon. */
async function again<T>(work: () => Promise<T>, withinMs: number): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (let pause = 20; ; pause = Math.min(pause * 2, 500)) {
    try {
      return await work();
    } catch (error) {
      if (!mayAskAgain(error) || performance.now() + pause > deadline) throw error;
    }
    await delay(pause * (0.5 + Math.random() / 2));
  }
}

/** Returns 0 for both before the first migration. */
async function readVersion(db: Kysely<Tables>): Promise<DataVersion> {
  try {
    const { rows } = await sql<DataVersion>`select version, oldest from schema_version`.execute(db);
    return rows[0] ?? { version: 0, oldest: 0 };
  } catch (error) {
    if (isUndefinedTable(error)) return { version: 0, oldest: 0 };
    throw error;
  }
}

/** Looks first: a user who may not make schemas can still use one that was made for them. */
async function makeSchema(tx: Transaction<Tables>, schema: string): Promise<void> {
  const { rows } = await sql<{ exists: boolean }>`
    select to_regnamespace(quote_ident(${schema})) is not null as exists`.execute(tx);
  if (rows[0]?.exists !== true) await sql`create schema ${sql.id(schema)}`.execute(tx);
}
