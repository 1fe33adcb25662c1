/**
 * SQLite, embedded: one file that several processes use at once (B4). Every acknowledged transaction is durable (B3).
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { Kysely, sql } from "kysely";
import { AptoveError } from "../../../domain/errors.ts";
import { createPrivateFile } from "../../../system/durable-files.ts";
import { isSqliteBusy } from "../../../system/sqlite-begin.ts";
import { namedIfFull } from "../../../system/sqlite-room.ts";
import type { RecordStore } from "../../record-store.ts";
import { recordsFault } from "../faults.ts";
import { openSqliteFile, sqliteDialect } from "./sqlite-driver.ts";
import { plain, required } from "../plain/plain-sql.ts";
import { sqlRecords, type SqlEngine } from "../sql-records.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import type { Tables } from "../tables.ts";
import { sqlite } from "./sqlite-placeholder.ts";
import { sealedEnds, type SealedEnds } from "./sealed/sealed-ends.ts";

/**
 * The largest size of an open write-ahead log after a checkpoint, in bytes. It is twice the usual one: bytes that are written over are
 * synced in half the time of bytes that make the file longer.
 */
const logBytesMax = 8_388_608;

/** How long opening waits for another process that creates the same file, in milliseconds. */
const openWaitMs = 10_000;
/** How long opening waits until no other process has the file open, in milliseconds: a command may be about to end. */
const aloneWaitMs = 2_000;

export interface SqliteOptions {
  file: string;
  /** The clock by which leases expire. Absent: the machine's clock. All processes that use the file are on one machine. */
  now?: () => number;
  /** True: no other process has the file open, or can open it, until it is closed or this process ends. */
  isAlone?: boolean;
}

/** Opens the records of a file. Creates it if it does not exist (mode 0600, its folder 0700). */
export async function openSqliteRecords(options: SqliteOptions): Promise<RecordStore> {
  return (await openSqlite(options)).records;
}

/** Opens the file as `openSqliteRecords` does, for who keeps more in it than records. */
export async function openSqlite({
  file,
  now = Date.now,
  isAlone = false,
}: SqliteOptions): Promise<{ engine: SqliteEngine; records: RecordStore }> {
  const reader = hasLog(file) && !isAlone ? openReader(file) : null;
  try {
    const engine = sqliteEngine(openDatabase(file, { isAlone }), now);
    return { engine, records: await sqlRecords(engine) };
  } finally {
    reader?.close();
  }
}

/** Returns true if a process is writing the file, or was killed while it did. */
function hasLog(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Keeps records of a newer version unchanged: they are refused after they were opened (B2). The last connection that closes
 * writes the log into the file, unless it only reads; so the log is not written while this connection is open.
 */
function openReader(file: string): Database.Database {
  try {
    const reader = new Database(file, { readonly: true, fileMustExist: true, timeout: openWaitMs });
    reader.pragma("user_version");
    return reader;
  } catch (error) {
    if (isSqliteBusy(error)) throw inUse(file, { isAlone: false, cause: error });
    throw recordsFault(`the records in ${file} could not be opened`, namedIfFull(error, file));
  }
}

/**
 * Opens the database. Throws a storage error if the file cannot be opened or is no database, and `data_in_use` if another process has it
 * alone, or this one would have it alone and another has it open.
 */
export function openDatabase(file: string, { isAlone = false } = {}): Database.Database {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // SQLite would make the file readable for every user; its -wal and -shm files copy the mode (B6).
    createPrivateFile(file);
    const database = new Database(file, { timeout: isAlone ? aloneWaitMs : openWaitMs });
    if (isAlone) takeAlone(database);
    // Pages that deleting leaves empty can be given back (K6). A file that has tables keeps what it has.
    if (database.pragma("page_count", { simple: true }) === 0) database.pragma("auto_vacuum = incremental");
    database.pragma("journal_mode = wal");
    // A checkpoint cuts a longer log to this size; else it stays as long as it ever was.
    database.pragma(`journal_size_limit = ${logBytesMax}`);
    // What was purged is not left in the file.
    database.pragma("secure_delete = fast");
    // A commit only writes the log. Its transactions are acknowledged after a sync of the log (log-sync.ts). A checkpoint syncs by itself.
    database.pragma("synchronous = normal");
    // On macOS only this reaches the medium; elsewhere it changes nothing (B3).
    database.pragma("fullfsync = on");
    database.pragma("foreign_keys = on");
    // From now on the driver waits for locks itself, without blocking the process.
    database.pragma("busy_timeout = 0");
    return database;
  } catch (error) {
    if (isSqliteBusy(error)) throw inUse(file, { isAlone, cause: error });
    throw recordsFault(`the records in ${file} could not be opened`, namedIfFull(error, file));
  }
}

/** Every handle of another process holds a shared lock on the file. The system releases ours when this process ends in any way. */
function takeAlone(database: Database.Database): void {
  try {
    database.pragma("locking_mode = exclusive");
    database.exec("begin exclusive; commit");
  } catch (error) {
    database.close();
    throw error;
  }
}

function inUse(file: string, { isAlone, cause }: { isAlone: boolean; cause: unknown }): AptoveError {
  const who = isAlone ? "another process uses it" : "another process uses it alone, as aptove move-blobs does";
  return new AptoveError("data_in_use", `${file} cannot be opened now: ${who}`, { cause });
}

/** The engine on SQLite, where the content of a turn may keep its blobs too. */
export interface SqliteEngine extends SqlEngine {
  /** The same database. Its transactions do not wait for the disk: one that must survive the loss of power comes later. */
  unsynced: Kysely<Tables>;
  dialect: SqlDialect & { ends: SealedEnds };
}

export function sqliteEngine(database: Database.Database, now: () => number = Date.now): SqliteEngine {
  const file = openSqliteFile(database);
  const db = new Kysely<Tables>({ dialect: sqliteDialect(file) });
  return {
    db,
    unsynced: new Kysely<Tables>({ dialect: sqliteDialect(file, { isDurable: false }) }),
    idType: "text",
    hasContents: true,
    dialect: {
      ends: sealedEnds(database, db),
      // A transaction that writes is the only one at that time.
      lockRows: () => sql``,
      // The time is a parameter because statements are prepared once and cached by their text.
      now: () => sql<number>`${now()}`,
      lock: () => [],
      plainNow: () => plain`${now()}`,
      ...sqlite,
      exclusiveLock: () => [],
      rowVersion: null,
      check: (condition) => required(plain`select 1 where ${condition}`),
      writesRow: (statement) => [required(plain`${statement} returning 1`)],
      takeRoom: () => null,
      containsWord: ({ text, folded }, word) => sql`instr(coalesce(${folded}, lower(${text})), ${word}) > 0`,
    },
    async readVersion(at) {
      const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(at);
      const version = rows[0]?.user_version ?? 0;
      return { version, oldest: await readOldest(at, version) };
    },
    async writeVersion(tx, { version, oldest }) {
      await sql.raw(`pragma user_version = ${version}`).execute(tx);
      await sql`create table if not exists schema_oldest (version integer not null)`.execute(tx);
      await sql`delete from schema_oldest`.execute(tx);
      await sql`insert into schema_oldest (version) values (${oldest})`.execute(tx);
    },
    // `begin immediate` holds the only write lock of the file.
    lock: () => Promise.resolve(),
    async product() {
      const { rows } = await sql<{ version: string }>`select sqlite_version() as version`.execute(db);
      return `SQLite ${rows[0]?.version ?? ""}`;
    },
    checkPlace: () => file.place.check(),
  };
}

/** Returns version 0 if there are no records yet. */
async function readOldest(db: Kysely<Tables>, version: number): Promise<number> {
  if (version === 0) return 0;
  const { rows } = await sql<{ version: number }>`select version from schema_oldest`.execute(db);
  return rows[0]?.version ?? version;
}
