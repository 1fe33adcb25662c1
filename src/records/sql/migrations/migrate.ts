/** Brings data to the version of the program (B2), while servers of the version before may go on. */
import { sql, type Kysely, type Transaction } from "kysely";
import { AptoveError } from "../../../domain/errors.ts";
import { isLockWaitOver } from "../postgres-faults.ts";
import type { Migration } from "./migrations.ts";
import type { Tables } from "../tables.ts";
import { inNewFile, oneTreeVersion } from "./version-7.ts";

/** What migrating needs to know of an engine. */
export interface MigratableEngine {
  db: Kysely<Tables>;
  /** Type of the columns that hold ids; it must compare by bytes, because lists are ordered by id. */
  idType: string;
  /** True if the ends of turns are in the table of contents. */
  hasContents?: true;
  /** Version of the data; 0 where there is none yet. Called before anything else is, and changes nothing. */
  readVersion(db: Kysely<Tables>): Promise<DataVersion>;
  writeVersion(tx: Transaction<Tables>, version: DataVersion): Promise<void>;
  /** Keeps other processes from migrating the same data until the transaction ends. */
  lock(tx: Transaction<Tables>): Promise<void>;
  /** A connection on which a statement may take as long as it needs; absent: the usual one. */
  forMigrating?(): Kysely<Tables>;
}

export interface DataVersion {
  version: number;
  /** Programs that know this version, or a later one, can use the data. */
  oldest: number;
}

/**
 * Brings the data to the last of the migrations in one transaction, or changes nothing. With nothing to do it is one
 * read. Data of a later version is used as it is where it says that this program can; else this throws `data_newer`.
 */
export async function migrate(engine: MigratableEngine, migrations: readonly Migration[]): Promise<void> {
  if (isUsable(await engine.readVersion(engine.db), migrations.length)) return;
  const db = engine.forMigrating?.() ?? engine.db;
  try {
    await db.transaction().execute((tx) => migrateIn(tx, engine, migrations));
  } catch (error) {
    if (!isLockWaitOver(error)) throw error;
    throw new AptoveError(
      "storage_failed",
      "the records were not migrated: another process migrates them, or holds what is to be changed; start again when it has ended",
      { cause: error },
    );
  } finally {
    if (db !== engine.db) await db.destroy();
  }
}

async function migrateIn(
  tx: Transaction<Tables>,
  engine: MigratableEngine,
  migrations: readonly Migration[],
): Promise<void> {
  await engine.lock(tx);
  // Another process may have migrated while this one waited for the lock.
  const found = await engine.readVersion(tx);
  if (isUsable(found, migrations.length)) return;
  const isNew = found.version === 0 && migrations.length >= oneTreeVersion;
  for (const migration of migrations.slice(found.version)) {
    const types = { id: engine.idType, hasContents: engine.hasContents === true, isNew };
    for (const statement of migration.statements(types)) {
      await sql.raw(types.isNew && types.hasContents ? inNewFile(statement) : statement).execute(tx);
    }
    await migration.rewrite?.(tx, types);
  }
  const isAdditive = (migration: Migration): boolean =>
    migration.isAdditive === true || (migration.isAdditive === "without contents" && engine.hasContents !== true);
  const oldest = 1 + migrations.findLastIndex((migration) => !isAdditive(migration));
  await engine.writeVersion(tx, { version: migrations.length, oldest });
}

/** False: it must be migrated first. */
function isUsable({ version, oldest }: DataVersion, known: number): boolean {
  if (version > known && oldest > known) {
    throw new AptoveError(
      "data_newer",
      `the records have version ${version}, which programs from version ${oldest} on can use, and this one knows up to ${known}; install a newer aptove`,
      { facts: { found: version, oldest, known } },
    );
  }
  return version >= known;
}
