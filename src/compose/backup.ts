/**
 * Copies a data folder while other processes write to it, and restores the copy (docs/backup.md). The order keeps the copy
 * consistent. A turn's blobs are written before its row and deleted after it. So the rows are copied first, in one snapshot, and
 * the blobs afterwards: every blob that a copied row names existed at that time. Only a purge in between can delete one. The
 * backup checks for that, and copies the rows again.
 */
import { createHash } from "node:crypto";
import {
  cpSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import type { BlobStore } from "../blobs/blob-store.ts";
import { AptoveError } from "../domain/errors.ts";
import { storageFault } from "../domain/storage-fault.ts";
import { dataFolderAt, type DataFolder } from "../configuration/data-folder.ts";
import { writePrivateFile } from "../system/durable-files.ts";

export interface BackupReport {
  folder: string;
  turns: number;
  blobs: number;
  /** Size of all blobs, in bytes. */
  bytes: number;
}

export interface BackupJob {
  /** The data folder. */
  folder: DataFolder;
  /** The folder of the backup. */
  copy: string;
  /** The version of this program. */
  version: string;
  onBlob?: (done: number, total: number) => void;
}

/** The content of `backup.json`. It is written last: a folder without it is not a complete backup. */
interface BackupManifest extends Omit<BackupReport, "folder"> {
  format: 1;
  version: string;
  madeAt: string;
  /** SHA-256 of `records.db`. */
  records: string;
}

const manifestName = "backup.json";
/** Files beside the sessions. The search index is left out because it can be built again; logs and locks belong to running processes. */
const otherNames = ["config.toml", "bindings.toml", "workspaces", "version"];
/** Each further attempt means that sessions were purged during the one before. */
const attemptsMax = 5;
const blobsAtOnce = 16;

/** Throws `backup_invalid` if the target folder is not empty, and what the stores throw. */
export async function makeBackup({ folder, copy, version, onBlob }: BackupJob): Promise<BackupReport> {
  if (existsSync(copy) && readdirSync(copy).length > 0) {
    throw new AptoveError("backup_invalid", `${copy} is not empty; name a folder that does not exist yet`);
  }
  mkdirSync(copy, { recursive: true, mode: 0o700 });
  const to = dataFolderAt(copy);
  const { fileBlobs } = await import("../blobs/files/file-blobs.ts");
  const stores = { from: fileBlobs({ folder: folder.blobs }), to: fileBlobs({ folder: to.blobs }) };
  const turns = await copyUntilWhole({ from: folder.records, to: to.records, stores, ...(onBlob && { onBlob }) });
  copyOthers(folder.dir, copy);
  const keys = await stores.to.list("");
  const bytes = await sum(keys, async (key) => (await stores.to.size(key)) ?? 0);
  const counts = { turns, blobs: keys.length, bytes };
  const records = await hashOf(to.records);
  const manifest: BackupManifest = { format: 1, version, madeAt: new Date().toISOString(), ...counts, records };
  writePrivateFile(join(copy, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
  return { folder: copy, ...counts };
}

interface CopyRequest {
  /** The file of the records to copy. */
  from: string;
  to: string;
  stores: { from: BlobStore; to: BlobStore };
  onBlob?: (done: number, total: number) => void;
}

/** Returns the number of turns in the copy. */
async function copyUntilWhole({ from, to, stores, onBlob }: CopyRequest): Promise<number> {
  const { snapshotSqlite } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    for (const file of [to, `${to}-wal`, `${to}-shm`]) rmSync(file, { force: true });
    snapshotSqlite({ from, to });
    await copyBlobs(stores, onBlob);
    const { turns, missing } = await checkCopy(to, stores.to);
    if (missing === null) return turns;
  }
  throw new AptoveError(
    "storage_failed",
    "sessions were purged during every attempt; make the backup again when the purge has ended",
  );
}

/** Copies the blobs that the copy does not have yet. A blob never changes once its row exists. */
async function copyBlobs({ from, to }: CopyRequest["stores"], onBlob: CopyRequest["onBlob"]): Promise<void> {
  const had = new Set(await to.list(""));
  const keys = (await from.list("")).filter((key) => !had.has(key));
  let done = 0;
  await inParallel(keys, async (key) => {
    const bytes = await from.get(key);
    if (bytes !== null) await to.put(key, bytes);
    onBlob?.((done += 1), keys.length);
  });
}

/** Counts the turns in the rows, and returns the first blob that they name and that is missing. */
async function checkCopy(file: string, blobs: BlobStore): Promise<{ turns: number; missing: string | null }> {
  const [{ compressedBlobs }, { openSqliteRecords }, { turnIdsIn }] = await Promise.all([
    import("../blobs/compressed-blobs.ts"),
    import("../records/sql/sqlite/sqlite.ts"),
    import("../records/sql/sqlite/sqlite-snapshot.ts"),
  ]);
  // The keys in the engine's form: the blobs themselves are copied in their compressed form.
  const had = new Set(await compressedBlobs(blobs).list(""));
  const ids = [...turnIdsIn(file)];
  const records = await openSqliteRecords({ file });
  try {
    for (const id of ids) {
      const missing = (await records.purges.blobKeysOf(id)).find((key) => !had.has(key));
      if (missing !== undefined) return { turns: ids.length, missing };
    }
    return { turns: ids.length, missing: null };
  } finally {
    await records.close();
  }
}

/** Restores a backup into a data folder that has no records yet. A restore that broke off can be repeated. Throws `backup_invalid`. */
export async function restoreBackup({ folder, copy, onBlob }: BackupJob): Promise<BackupReport> {
  const manifest = readManifest(copy);
  const from = dataFolderAt(copy);
  if (existsSync(folder.records)) {
    throw new AptoveError("backup_invalid", `${folder.dir} ${await whatIsThere(folder)}`);
  }
  if ((await hashOf(from.records)) !== manifest.records) throw damaged(copy, "its records were changed");
  const { fileBlobs } = await import("../blobs/files/file-blobs.ts");
  const stores = { from: fileBlobs({ folder: from.blobs }), to: fileBlobs({ folder: folder.blobs }) };
  const { turns, missing } = await checkBackup(from.records, folder, stores.from);
  if (missing !== null) throw damaged(copy, `the blob ${missing} is gone`);
  await copyBlobs(stores, onBlob);
  copyOthers(copy, folder.dir);
  // The rows come last: until they exist, no row can name a blob that is still missing.
  renameSync(asideOf(folder), folder.records);
  const { blobs, bytes } = manifest;
  return { folder: folder.dir, turns, blobs, bytes };
}

/** Says what a data folder with records has, and what to do before a restore. */
async function whatIsThere({ records }: DataFolder): Promise<string> {
  if (await hasNoTurns(records)) {
    return `has a file of records without any turn; stop all that uses the folder, and move ${records} away`;
  }
  return "already has sessions, which would be lost; move that folder, or set APTOVE_DATA_DIR to another one";
}

/** Returns false for damaged records too: they may still be repaired. */
async function hasNoTurns(records: string): Promise<boolean> {
  const { turnIdsIn } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  try {
    return [...turnIdsIn(records)].length === 0;
  } catch {
    return false;
  }
}

/** Checks a copy of the rows, so that the backup itself does not change. The restore then uses that copy. */
async function checkBackup(records: string, folder: DataFolder, blobs: BlobStore): ReturnType<typeof checkCopy> {
  const { snapshotSqlite } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  const aside = asideOf(folder);
  for (const file of [aside, `${aside}-wal`, `${aside}-shm`]) rmSync(file, { force: true });
  snapshotSqlite({ from: records, to: aside });
  return await checkCopy(aside, blobs);
}

function asideOf({ records }: DataFolder): string {
  return `${records}.restoring`;
}

function readManifest(copy: string): BackupManifest {
  let manifest: Partial<BackupManifest>;
  try {
    manifest = JSON.parse(readFileSync(join(copy, manifestName), "utf8")) as Partial<BackupManifest>;
  } catch (cause) {
    throw new AptoveError(
      "backup_invalid",
      `${copy} has no ${manifestName}: it is not a backup, or not a complete one`,
      {
        cause,
      },
    );
  }
  if (manifest.format !== 1) throw damaged(copy, `its format is ${String(manifest.format)}, and this program reads 1`);
  return manifest as BackupManifest;
}

function damaged(copy: string, why: string): AptoveError {
  return new AptoveError("backup_invalid", `${copy} cannot be restored: ${why}`);
}

function copyOthers(from: string, to: string): void {
  try {
    for (const name of otherNames) {
      if (!existsSync(join(from, name))) continue;
      // Logs of MCP servers belong to processes that have ended.
      const filter = (path: string): boolean => !/[/\\]mcp[/\\].*\.log(?:\.\d+)?$/.test(path);
      cpSync(join(from, name), join(to, name), { recursive: true, force: true, preserveTimestamps: true, filter });
    }
  } catch (error) {
    throw storageFault(`the files beside the sessions could not be copied to ${to}`, error);
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
  return hash.digest("hex");
}

async function sum<T>(items: readonly T[], of: (item: T) => Promise<number>): Promise<number> {
  let total = 0;
  await inParallel(items, async (item) => {
    const value = await of(item);
    total += value;
  });
  return total;
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: blobsAtOnce }, lane));
}
