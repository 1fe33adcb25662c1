/**
 * PostgreSQL, for a team on several machines. The `pg` package is loaded when a store is opened, so that the
 * embedded case does not pay for it.
 */
import { CompiledQuery, Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import type { RecordStore } from "../record-store.ts";
import { isUndefinedTable } from "./faults.ts";
import { sqlRecords } from "./sql-records.ts";
import { tableNames, type Tables } from "./tables.ts";

const connectionsMax = 10;
const connectTimeoutMs = 10_000;
/** Any number will do, as long as every process takes the same one. */
const migrationLock = 4_711_260_001;
const bigintOid = 20;

/** `url` as libpq takes it. `schema` holds the tables and is made when it is not there; without it, the user's own search path says where they are. */
export async function openPostgresRecords({ url, schema }: { url: string; schema?: string }): Promise<RecordStore> {
  const { Pool, types } = (await import("pg")).default;
  const pool = new Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    // Counts and times fit a double; pg would hand out strings.
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        oid === bigintOid ? Number : types.getTypeParser(oid, format as "text"),
    },
  });
  // An idle connection broke: the pool has dropped it, and whoever needs the next one learns whether the server is gone.
  pool.on("error", () => undefined);
  const dialect = new PostgresDialect({
    pool,
    async onCreateConnection(connection) {
      if (schema === undefined) return;
      await connection.executeQuery(
        CompiledQuery.raw("select set_config('search_path', quote_ident($1), false)", [schema]),
      );
    },
  });
  const db = new Kysely<Tables>({ dialect });
  return await sqlRecords({
    db,
    // A language's collation would order ids in its own way.
    idType: 'text collate "C"',
    dialect: {
      hold: (strength) => sql.raw(`for ${strength}`),
      now: () => sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`,
      // A language's collation would lower letters in its own way.
      has: ({ text, folded }, word) => sql`strpos(coalesce(${folded}, lower(${text} collate "C")), ${word}) > 0`,
    },
    readVersion,
    async writeVersion(tx, version) {
      await sql`delete from schema_version`.execute(tx);
      await sql`insert into schema_version (version) values (${version})`.execute(tx);
    },
    async lock(tx) {
      await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(tx);
      if (schema !== undefined) await makeSchema(tx, schema);
      await sql`create table if not exists schema_version (version integer not null)`.execute(tx);
    },
    async size() {
      const { rows } = await sql<{ bytes: number }>`
        select sum(pg_total_relation_size(to_regclass(name)))::bigint as bytes
        from unnest(${tableNames}::text[]) as name`.execute(db);
      return rows[0]?.bytes ?? 0;
    },
  });
}

/** 0 before the first migration. */
async function readVersion(db: Kysely<Tables>): Promise<number> {
  try {
    const { rows } = await sql<{ version: number }>`select version from schema_version`.execute(db);
    return rows[0]?.version ?? 0;
  } catch (error) {
    if (isUndefinedTable(error)) return 0;
    throw error;
  }
}

/** Looks first: a user who may not make schemas can still use one that was made for them. */
async function makeSchema(tx: Transaction<Tables>, schema: string): Promise<void> {
  const { rows } = await sql<{ exists: boolean }>`
    select to_regnamespace(quote_ident(${schema})) is not null as exists`.execute(tx);
  if (rows[0]?.exists !== true) await sql`create schema ${sql.id(schema)}`.execute(tx);
}
