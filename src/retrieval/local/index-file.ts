/**
 * The file of the local index: `<folder>/index.db`, SQLite in WAL mode, used by several processes at once (B4). All its content
 * is derived from working copies and can be built again. A file of an older format is brought to this one by the next question or
 * run. A file of a newer format is refused and stays unchanged (B2). docs/formats/index.md describes the tables.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import Database from "better-sqlite3";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { createPrivateFile } from "../../system/durable-files.ts";
import { beginIfFree } from "../../system/sqlite-begin.ts";
import { systemCode } from "../../system/system-error.ts";
import { chunkTerms, PostingsWriter } from "./postings.ts";

export type IndexDatabase = Database.Database;

/** The version of the format. It increases when the tables change, or when chunks or terms are made differently, because old ones would be wrong. */
export const formatVersion = 2;

const wordTables = `
  CREATE TABLE segments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    entries INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE postings (
    segment INTEGER NOT NULL REFERENCES segments (number),
    term TEXT NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (segment, term)
  ) STRICT, WITHOUT ROWID;`;
const tables = `
  CREATE TABLE repositories (
    id INTEGER PRIMARY KEY,
    org_id TEXT NOT NULL,
    name TEXT NOT NULL,
    root TEXT NOT NULL,
    commit_id TEXT,
    model TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    generation TEXT NOT NULL,
    indexed_at INTEGER NOT NULL,
    UNIQUE (org_id, name)
  ) STRICT;
  CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    path TEXT NOT NULL,
    language TEXT NOT NULL,
    is_text INTEGER NOT NULL,
    hash TEXT NOT NULL,
    stamp TEXT NOT NULL,
    looked_at INTEGER NOT NULL,
    UNIQUE (repository_id, path)
  ) STRICT;
  CREATE TABLE chunks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    file_id INTEGER NOT NULL REFERENCES files (id),
    id TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    symbol TEXT,
    text TEXT NOT NULL,
    hash TEXT NOT NULL,
    terms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX chunks_by_repository ON chunks (repository_id);
  CREATE INDEX chunks_by_file ON chunks (file_id);
  CREATE TABLE vectors (
    number INTEGER PRIMARY KEY REFERENCES chunks (number),
    vector BLOB NOT NULL
  ) STRICT;${wordTables}`;

/** Opens the file. Creates the folder (mode 0700) and the file (0600) if they do not exist. The first run creates the tables. */
export function openIndexFile(folder: string): IndexDatabase {
  const file = join(folder, "index.db");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // SQLite would make the file readable for every user; its -wal and -shm files copy the mode (B6).
    createPrivateFile(file);
    const database = new Database(file, { timeout: limits.indexBusyMsMax });
    database.pragma("journal_mode = wal");
    // A power cut may lose the last run, but never the whole index. It is derived data.
    database.pragma("synchronous = normal");
    database.pragma(`journal_size_limit = ${limits.indexJournalBytesMax}`);
    database.pragma("cache_size = -65536");
    return database;
  } catch (error) {
    throw indexFault(file, error);
  }
}

/** Returns the format of the tables; 0 if there are none. Throws `data_newer` for a format that this program does not know. */
export function formatOf(database: IndexDatabase): number {
  const format = database.pragma("user_version", { simple: true }) as number;
  if (format <= formatVersion) return format;
  throw new AptoveError(
    "data_newer",
    `${database.name} has the format ${format}, this version reads up to ${formatVersion}; update aptove, or delete the file and run \`aptove index\``,
    { facts: { found: format, known: formatVersion } },
  );
}

/**
 * Begins the single transaction of a run. Readers see the former index until it is committed, and still afterwards if it is
 * not (Q2). Waits while another run, of this or another process, writes the index, without blocking this process.
 */
export async function beginRun(database: IndexDatabase, signal: AbortSignal): Promise<void> {
  for (const deadline = Date.now() + limits.indexWaitMsMax; ;) {
    signal.throwIfAborted();
    if (beginRunIfFree(database)) return;
    if (Date.now() > deadline) {
      throw new AptoveError("retrieval_failed", "another run is writing the index; try again when it has ended");
    }
    await delay(50);
  }
}

/** Begins a run as `beginRun` does. Returns false if another run writes the index. */
export function beginRunIfFree(database: IndexDatabase): boolean {
  database.pragma("busy_timeout = 0");
  if (!beginIfFree(database)) return false;
  const format = formatOf(database);
  if (format === 0) database.exec(tables);
  else if (format < formatVersion) upgrade(database);
  database.pragma(`user_version = ${formatVersion}`);
  return true;
}

/** The chunks whose terms are read at once. */
const upgradedPerPage = 1_024;

/** Makes format 2 of format 1, which had the terms in FTS5. The texts are in the index, so no working copy is needed. */
function upgrade(database: IndexDatabase): void {
  const virtual = database
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%'")
    .pluck();
  for (const name of virtual.all()) database.exec(`DROP TABLE "${name}"`);
  database.exec(`ALTER TABLE chunks ADD COLUMN terms INTEGER NOT NULL DEFAULT 0;${wordTables}`);
  const repositories = database.prepare<[], number>("SELECT id FROM repositories").pluck().all();
  for (const id of repositories) upgradeWords(database, id);
}

function upgradeWords(database: IndexDatabase, repositoryId: number): void {
  type Row = { number: number; path: string; symbol: string | null; text: string };
  const page = database.prepare<[number, number, number], Row>(
    `SELECT c.number, f.path, c.symbol, c.text FROM chunks c JOIN files f ON f.id = c.file_id
     WHERE c.repository_id = ? AND c.number > ? ORDER BY c.number LIMIT ?`,
  );
  const update = database.prepare<[number, number]>("UPDATE chunks SET terms = ? WHERE number = ?");
  const writer = new PostingsWriter(database, repositoryId);
  for (let last = 0; ;) {
    const rows = page.all(repositoryId, last, upgradedPerPage);
    for (const row of rows) {
      const terms = chunkTerms(row);
      update.run(terms.length, row.number);
      writer.add(row.number, terms.counts);
      last = row.number;
    }
    if (rows.length === 0) break;
  }
  writer.finish();
}

export interface RepositoryRow {
  id: number;
  org_id: string;
  name: string;
  root: string;
  commit_id: string | null;
  model: string;
  dimension: number;
  /** An id that changes with every run that added or removed chunks. */
  generation: string;
  indexed_at: number;
}

export function repositoryRow(
  database: IndexDatabase,
  { orgId, repo }: { orgId: string; repo: string },
): RepositoryRow | null {
  const select = database.prepare<[string, string], RepositoryRow>(
    "SELECT * FROM repositories WHERE org_id = ? AND name = ?",
  );
  return select.get(orgId, repo) ?? null;
}

export function fileCount(database: IndexDatabase, { id }: Pick<RepositoryRow, "id">): number {
  const count = database.prepare<[number], number>("SELECT count(*) FROM files WHERE repository_id = ?").pluck();
  return (count.get(id) as number | undefined) ?? 0;
}

/** Returns an error of SQLite or of the disk as an error of the catalogue. An AptoveError stays unchanged. */
export function indexFault(file: string, error: unknown): AptoveError {
  if (error instanceof AptoveError) return error;
  const code = systemCode(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === "SQLITE_FULL") {
    return new AptoveError("storage_full", `the index ${file} could not be written: ${message}`, { cause: error });
  }
  if (code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT")) {
    const fix = "its content can be built again: delete it and run `aptove index`";
    return new AptoveError("storage_failed", `the index ${file} is damaged (${message}); ${fix}`, { cause: error });
  }
  return storageFault(`the index ${file} failed`, error);
}
