/**
 * A copy of a data folder, made while others write to it, and brought back (docs/backup.md). The order is what keeps it from
 * lying: a turn's blobs are written before its row and deleted after it, so the rows are copied first, at one moment, and the
 * blobs then: whatever a row of the copy names was there by then. Only a purge in between can take one away; that is looked for,
 * and the rows are copied anew.
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
  /** Of the blobs. */
  bytes: number;
}

export interface BackupJob {
  /** The data folder. */
  folder: DataFolder;
  /** Where the copy is, or is to be. */
  copy: string;
  /** Of this program. */
  version: string;
  onBlob?: (done: number, total: number) => void;
}

/** `backup.json`, which is written last: a folder without it is no whole backup. */
interface Manifest extends Omit<BackupReport, "folder"> {
  format: 1;
  version: string;
  madeAt: string;
  /** SHA-256 of `records.db`. */
  records: string;
}

const manifestName = "backup.json";
/** What people and devices keep beside sessions. The index can be made again; logs and locks are of running processes. */
const otherNames = ["config.toml", "bindings.toml", "workspaces", "version"];
/** Each time somebody purged sessions meanwhile. */
const attemptsMax = 5;
const blobsAtOnce = 16;

/** Throws `backup_invalid` for a folder that holds something, and what the stores throw. */
export async function makeBackup({ folder, copy, version, onBlob }: BackupJob): Promise<BackupReport> {
  if (existsSync(copy) && readdirSync(copy).length > 0) {
    throw new AptoveError("backup_invalid", `${copy} is not empty; name a folder that is not there yet`);
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
  const manifest: Manifest = { format: 1, version, madeAt: new Date().toISOString(), ...counts, records };
  writePrivateFile(join(copy, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
  return { folder: copy, ...counts };
}

interface Copying {
  /** Files of the records. */
  from: string;
  to: string;
  stores: { from: BlobStore; to: BlobStore };
  onBlob?: (done: number, total: number) => void;
}

/** Gives how many turns there are. */
async function copyUntilWhole({ from, to, stores, onBlob }: Copying): Promise<number> {
  const { snapshotSqlite } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    for (const file of [to, `${to}-wal`, `${to}-shm`]) rmSync(file, { force: true });
    snapshotSqlite({ from, to });
    await copyBlobs(stores, onBlob);
    const { turns, missing } = await lookThrough(to, stores.to);
    if (missing === null) return turns;
  }
  throw new AptoveError("storage_failed", "sessions were purged all the while; make the backup when that is over");
}

/** Those that the copy has not; a blob never changes once its row is there. */
async function copyBlobs({ from, to }: Copying["stores"], onBlob: Copying["onBlob"]): Promise<void> {
  const had = new Set(await to.list(""));
  const keys = (await from.list("")).filter((key) => !had.has(key));
  let done = 0;
  await inLanes(keys, async (key) => {
    const bytes = await from.get(key);
    if (bytes !== null) await to.put(key, bytes);
    onBlob?.((done += 1), keys.length);
  });
}

/** How many turns the rows have, and a blob that they name and is not there. */
async function lookThrough(file: string, blobs: BlobStore): Promise<{ turns: number; missing: string | null }> {
  const [{ compressedBlobs }, { openSqliteRecords }, { turnIdsIn }] = await Promise.all([
    import("../blobs/compressed-blobs.ts"),
    import("../records/sql/sqlite/sqlite.ts"),
    import("../records/sql/sqlite/sqlite-snapshot.ts"),
  ]);
  // As the engine names them: they are copied as they lie, which is compressed.
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

/** Into a data folder that has no records yet. What broke off can be done again. Throws `backup_invalid`. */
export async function restoreBackup({ folder, copy, onBlob }: BackupJob): Promise<BackupReport> {
  const manifest = readManifest(copy);
  const from = dataFolderAt(copy);
  if (existsSync(folder.records)) {
    const mend = "move that folder away, or set APTOVE_DATA_DIR to another";
    throw new AptoveError("backup_invalid", `${folder.dir} has sessions already, which would be lost; ${mend}`);
  }
  if ((await hashOf(from.records)) !== manifest.records) throw damaged(copy, "its records were changed");
  const { fileBlobs } = await import("../blobs/files/file-blobs.ts");
  const stores = { from: fileBlobs({ folder: from.blobs }), to: fileBlobs({ folder: folder.blobs }) };
  const { turns, missing } = await lookThroughCopy(from.records, folder, stores.from);
  if (missing !== null) throw damaged(copy, `the blob ${missing} is gone`);
  await copyBlobs(stores, onBlob);
  copyOthers(copy, folder.dir);
  // The rows last: until they are there, nothing names what may be missing.
  renameSync(asideOf(folder), folder.records);
  const { blobs, bytes } = manifest;
  return { folder: folder.dir, turns, blobs, bytes };
}

/** Looks at a copy of the rows, which then is the one that is put in place: the backup stays as it is. */
async function lookThroughCopy(records: string, folder: DataFolder, blobs: BlobStore): ReturnType<typeof lookThrough> {
  const { snapshotSqlite } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  const aside = asideOf(folder);
  for (const file of [aside, `${aside}-wal`, `${aside}-shm`]) rmSync(file, { force: true });
  snapshotSqlite({ from: records, to: aside });
  return await lookThrough(aside, blobs);
}

function asideOf({ records }: DataFolder): string {
  return `${records}.restoring`;
}

function readManifest(copy: string): Manifest {
  let manifest: Partial<Manifest>;
  try {
    manifest = JSON.parse(readFileSync(join(copy, manifestName), "utf8")) as Partial<Manifest>;
  } catch (cause) {
    throw new AptoveError("backup_invalid", `${copy} has no ${manifestName}: it is no backup, or not a whole one`, {
      cause,
    });
  }
  if (manifest.format !== 1) throw damaged(copy, `its format is ${String(manifest.format)}, and this program reads 1`);
  return manifest as Manifest;
}

function damaged(copy: string, why: string): AptoveError {
  return new AptoveError("backup_invalid", `${copy} cannot be restored: ${why}`);
}

function copyOthers(from: string, to: string): void {
  try {
    for (const name of otherNames) {
      if (!existsSync(join(from, name))) continue;
      // Logs of servers of tools are about processes that are over.
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
  await inLanes(items, async (item) => {
    const value = await of(item);
    total += value;
  });
  return total;
}

async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: blobsAtOnce }, lane));
}
