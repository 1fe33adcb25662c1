/**
 * Copies a data folder while other processes write to it, and restores the copy (docs/backup.md). If the blobs are in the database of
 * the records, one snapshot has everything. If they are files, the order keeps the copy consistent. A turn's blobs are written before its row and deleted after it. So the rows are copied first, in one snapshot, and
 * the blobs afterwards: every blob that a copied row names existed at that time. Only a purge in between can delete one. The
 * backup checks for that, and copies the rows again.
 *
 * Both check all that they read and write. What is missing or damaged is named, and everything else is copied.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { BlobStore } from "../blobs/blob-store.ts";
import { AptoveError, failureOf } from "../domain/errors.ts";
import { filesOfRecords, inBackupFolder, manifestName, refuseRecords } from "./backup-place.ts";
import { copyBlobs, damagedBlobs, type BlobCopy, type BlobStores, type DamagedPart } from "./backup-blobs.ts";
import { hasBlobFiles } from "./data-folder/blob-place.ts";
import {
  compareBeside,
  copyBeside,
  hashesOf,
  hashOf,
  listBehindLinks,
  listInBackup,
  namesBeside,
  type FilesBeside,
} from "./data-folder/files-beside.ts";
import { isReadOnlyFolder, withReadableRecords } from "./data-folder/read-only-folder.ts";
import type { RecordStore } from "../records/record-store.ts";
import { dataFolderAt, type DataFolder } from "../configuration/data-folder.ts";
import { writePrivateFile } from "../system/durable-files.ts";

export interface BackupReport {
  folder: string;
  turns: number;
  blobs: number;
  /** Size of all files of the copy, in bytes. */
  bytes: number;
  /** What is missing or cannot be read. Empty: all is whole. */
  damaged: DamagedPart[];
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
  /** SHA-256 of the files beside the sessions, by path. Backups of version 0.1.0 have none. */
  files?: Record<string, string>;
}

/** Each further attempt means that sessions were purged during the one before. */
const attemptsMax = 5;

/**
 * Throws `backup_refused` if there are no records or the target is no empty folder outside of the data folder, and what the stores throw.
 * The folder is empty afterwards if it throws.
 */
export async function makeBackup(job: BackupJob): Promise<BackupReport> {
  const { folder, copy } = job;
  if (!existsSync(folder.records)) {
    throw new AptoveError("backup_refused", `${folder.dir} has no records, so there is nothing to copy`);
  }
  return await inBackupFolder({ copy, dataDir: folder.dir }, () => fillBackup(job));
}

async function fillBackup({ folder, copy, version, onBlob }: BackupJob): Promise<BackupReport> {
  const to = dataFolderAt(copy);
  const counts = await (hasBlobFiles(folder) ? copyWithFiles : copyDatabase)({ from: folder, to, onBlob });
  const beside = listBehindLinks(folder.dir, copy);
  const damaged = [...counts.damaged, ...beside.damaged, ...copyBeside(beside, { from: folder.dir, to: copy })];
  const [records, files] = [await hashOf(to.records), await hashesOf(copy, listInBackup(copy).files)];
  const done = { ...counts, damaged, bytes: sizeOf(to) };
  const manifest: BackupManifest = { format: 1, version, madeAt: new Date().toISOString(), ...done, records, files };
  writePrivateFile(join(copy, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
  return { folder: copy, ...done };
}

interface FolderCopy {
  from: DataFolder;
  to: DataFolder;
  onBlob: BackupJob["onBlob"];
}

type CopyCounts = Omit<BackupReport, "folder" | "bytes">;

/** Copies the database with the blobs in it, and reads all of the copy. */
async function copyDatabase({ from, to, onBlob }: FolderCopy): Promise<CopyCounts> {
  const { snapshotSqlite } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  await withReadableRecords(from, (file) => snapshotSqlite({ from: file, to: to.records }));
  return await checkDatabase(to.records, onBlob);
}

async function checkDatabase(file: string, onTurn: BackupJob["onBlob"]): Promise<CopyCounts> {
  const { openEmbeddedStore } = await import("../embedded/embedded-store.ts");
  const store = await openEmbeddedStore({ file });
  try {
    return await store.check(onTurn);
  } finally {
    await store.records.close();
  }
}

async function copyWithFiles({ from, to, onBlob }: FolderCopy): Promise<CopyCounts> {
  const { fileBlobs } = await import("../blobs/files/file-blobs.ts");
  const { holdSqlite } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  const stores = { from: fileBlobs({ folder: from.blobs }), to: fileBlobs({ folder: to.blobs }) };
  // The files must not be moved into the database meanwhile.
  const release = isReadOnlyFolder(from) ? () => {} : holdSqlite(from.records);
  const { turns, damaged } = await copyUntilWhole({ from, to: to.records, stores, onBlob }).finally(release);
  return { turns, blobs: (await stores.to.list("")).length, damaged };
}

interface CopyRequest {
  from: DataFolder;
  to: string;
  stores: BlobStores;
  onBlob: BlobCopy["onBlob"];
}

/** Returns the number of turns in the copy, and what it lacks because the original lacks it. */
async function copyUntilWhole({ from, to, stores, onBlob }: CopyRequest): Promise<CheckedCopy> {
  const { snapshotSqlite, turnIdsIn } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  const blobs: BlobCopy = { copied: new Map(), onBlob };
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    for (const file of [to, `${to}-wal`, `${to}-shm`]) rmSync(file, { force: true });
    await withReadableRecords(from, (file) => snapshotSqlite({ from: file, to }));
    await copyBlobs(stores, blobs);
    const { turns, missing } = await checkRows(to, stores.to);
    const still = new Set(missing.length === 0 ? [] : await withReadableRecords(from, (file) => [...turnIdsIn(file)]));
    // A turn that is gone meanwhile was purged. One that is still there has lost its blob.
    if (missing.every(({ turnId }) => still.has(turnId))) return { turns, damaged: allDamaged(blobs, missing) };
  }
  throw new AptoveError(
    "storage_failed",
    "sessions were purged during every attempt; make the backup again when the purge has ended",
  );
}

interface CheckedCopy {
  turns: number;
  damaged: DamagedPart[];
}

/** A blob or a row that a turn needs and that is not there, or not readable. */
interface MissingPart {
  name: string;
  why: string;
  turnId: string;
}

function allDamaged(blobs: BlobCopy, missing: readonly MissingPart[]): DamagedPart[] {
  const gone = missing.map(({ name, why }) => ({ name, why }));
  return [...damagedBlobs(blobs), ...gone].toSorted((a, b) => a.name.localeCompare(b.name, "en"));
}

/** Counts the turns in the rows, and returns the blobs that they name and that are missing. */
async function checkRows(file: string, blobs: BlobStore): Promise<{ turns: number; missing: MissingPart[] }> {
  const [{ compressedBlobs }, { openSqliteRecords }, { turnIdsIn }] = await Promise.all([
    import("../blobs/compressed-blobs.ts"),
    import("../records/sql/sqlite/sqlite.ts"),
    import("../records/sql/sqlite/sqlite-snapshot.ts"),
  ]);
  // The keys in the engine's form: the blobs themselves are copied in their compressed form.
  const had = new Set(await compressedBlobs(blobs).list(""));
  const ids = [...turnIdsIn(file)];
  const records = await openSqliteRecords({ file });
  const missing = new Map<string, MissingPart>();
  try {
    for (const turnId of ids) {
      for (const part of await missingOf(records, turnId, had)) {
        if (!missing.has(part.name)) missing.set(part.name, part);
      }
    }
    return { turns: ids.length, missing: [...missing.values()] };
  } finally {
    await records.close();
  }
}

async function missingOf(records: RecordStore, turnId: string, had: ReadonlySet<string>): Promise<MissingPart[]> {
  try {
    const keys = (await records.purges.blobKeysOf(turnId)).filter((key) => !had.has(key));
    return keys.map((name) => ({ name, why: `is missing; the turn ${turnId} needs it`, turnId }));
  } catch (error) {
    return [{ name: `turns/${turnId}/`, why: `cannot be read: ${failureOf(error).message}`, turnId }];
  }
}

/** Restores a backup into a data folder that has no records yet. A restore that broke off can be repeated. Throws `backup_invalid` and `backup_refused`. */
export async function restoreBackup(job: BackupJob): Promise<BackupReport> {
  const { folder, copy } = job;
  const manifest = readManifest(copy);
  await refuseRecords(folder);
  mkdirSync(folder.dir, { recursive: true, mode: 0o700 });
  const { FileLockTimeout, withFileLock } = await import("../system/file-lock.ts");
  try {
    // Two restores at once would mix what they write beside its place.
    return await withFileLock(join(folder.locks, "restore"), () => restoreAlone(job, manifest), { waitMsMax: 0 });
  } catch (error) {
    if (!(error instanceof FileLockTimeout)) throw error;
    throw new AptoveError("backup_refused", `another restore into ${folder.dir} is running; wait until it has ended`);
  }
}

async function restoreAlone({ folder, copy, onBlob }: BackupJob, manifest: BackupManifest): Promise<BackupReport> {
  const from = dataFolderAt(copy);
  await refuseRecords(folder);
  const beside = listInBackup(copy);
  const toWrite = await filesToWrite(beside, { copy, folder });
  if ((await hashOf(from.records)) !== manifest.records) throw unusable(copy, "its records were changed");
  const { turns, damaged } = await (hasBlobFiles(from) ? restoreFiles : restoreDatabase)({ from, to: folder, onBlob });
  // Another process may have begun records before the copy of the rows was there to stop it.
  await refuseRecords(folder);
  const unread = copyBeside(toWrite, { from: copy, to: folder.dir });
  const others = [...beside.damaged, ...unread, ...(await changedFiles(manifest, { copy, beside }))];
  await refuseRecords(folder, "; the files beside the sessions are those of the backup already");
  // The rows come last: until they exist, no row can name a blob that is still missing.
  renameSync(folder.recordsRestoring, folder.records);
  await checkRestored(folder.records, turns);
  const all = [...new Map([...damaged, ...others].toReversed().map((part) => [part.name, part])).values()].toReversed();
  return { folder: folder.dir, turns, blobs: manifest.blobs, bytes: sizeOf(folder), damaged: all };
}

/** Throws `storage_failed` if the records, when they are opened at their place, are not those that were checked beside it. */
async function checkRestored(records: string, expected: number): Promise<void> {
  const { countTurns } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  const found = countTurns(records);
  if (found === expected) return;
  const what = `${records} has ${found} turns, and the backup has ${expected}: another process has written to it`;
  const fix = `stop all that uses the folder, move ${[records, ...filesOfRecords(records)].join(", ")} away, and restore again`;
  throw new AptoveError("storage_failed", `${what}; ${fix}`);
}

async function restoreDatabase({ from, to, onBlob }: FolderCopy): Promise<CheckedCopy> {
  if (hasBlobFiles(to)) {
    const fix = `the backup has its blobs in records.db; move ${to.blobs} away`;
    throw new AptoveError("backup_refused", `${to.dir} has blobs of other sessions; ${fix}`);
  }
  return await checkDatabase(await copyAside(from, to), onBlob);
}

async function restoreFiles({ from, to, onBlob }: FolderCopy): Promise<CheckedCopy> {
  const { fileBlobs } = await import("../blobs/files/file-blobs.ts");
  const stores = { from: fileBlobs({ folder: from.blobs }), to: fileBlobs({ folder: to.blobs }) };
  const { turns, missing } = await checkRows(await copyAside(from, to), stores.from);
  const blobs: BlobCopy = { copied: new Map(), onBlob };
  await copyBlobs(stores, blobs);
  return { turns, damaged: allDamaged(blobs, missing) };
}

const namedMax = 5;

/** Returns the files that are not in the data folder yet. Throws `backup_refused` if another one is at the place of one of them. */
async function filesToWrite(
  beside: FilesBeside,
  { copy, folder }: { copy: string; folder: DataFolder },
): Promise<FilesBeside> {
  const { same, other } = await compareBeside(beside, { copy, dir: folder.dir });
  // A restore that broke off may have written a part of each.
  if (other.length === 0 || existsSync(folder.recordsRestoring)) {
    return { ...beside, files: beside.files.filter((path) => !same.includes(path)) };
  }
  const more = other.length > namedMax ? ` and ${other.length - namedMax} more` : "";
  const named = `${other.slice(0, namedMax).join(", ")}${more}`;
  const what = `${folder.dir} has other files than the backup at these places, which would be lost: ${named}`;
  throw new AptoveError("backup_refused", `${what}; move them away, or set APTOVE_DATA_DIR to another folder`);
}

/** Returns the files beside the sessions that are not as the backup wrote them, and what it could not read then. */
async function changedFiles(
  made: BackupManifest,
  { copy, beside }: { copy: string; beside: FilesBeside },
): Promise<DamagedPart[]> {
  const found = await hashesOf(copy, beside.files);
  const changed = Object.entries(made.files ?? {}).flatMap(([name, hash]) => {
    if (found[name] === hash) return [];
    return [{ name, why: found[name] === undefined ? "is missing" : "was changed since the backup was made" }];
  });
  // A person may have put it there since.
  const there = new Set([...beside.files, ...beside.folders]);
  const isLost = ({ name }: DamagedPart): boolean => namesBeside.includes(name.split("/")[0] ?? "") && !there.has(name);
  const never = made.damaged.filter(isLost);
  return [
    ...changed,
    ...never.map(({ name, why }) => ({ name, why: `is missing: it ${why} when the backup was made` })),
  ];
}

/** Copies the rows beside their place, to check the copy, so that the backup itself does not change. The restore then uses it. */
async function copyAside(from: DataFolder, folder: DataFolder): Promise<string> {
  const { snapshotSqlite } = await import("../records/sql/sqlite/sqlite-snapshot.ts");
  const aside = folder.recordsRestoring;
  for (const file of [aside, `${aside}-wal`, `${aside}-shm`]) rmSync(file, { force: true });
  await withReadableRecords(from, (file) => snapshotSqlite({ from: file, to: aside }));
  return aside;
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
  if (manifest.format !== 1) throw unusable(copy, `its format is ${String(manifest.format)}, and this program reads 1`);
  return manifest as BackupManifest;
}

function unusable(copy: string, why: string): AptoveError {
  return new AptoveError("backup_invalid", `${copy} cannot be restored: ${why}`);
}

/** Returns the size of what a backup copies, in bytes. */
function sizeOf({ dir, records, blobs }: DataFolder): number {
  const add = (path: string): number => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory() !== true) return stat?.size ?? 0;
    return readdirSync(path).reduce((sum, name) => sum + add(join(path, name)), 0);
  };
  return [records, blobs, ...namesBeside.map((name) => join(dir, name))].reduce((sum, path) => sum + add(path), 0);
}
