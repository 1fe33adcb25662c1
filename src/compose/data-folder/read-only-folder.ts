/**
 * Opens a data folder that this user cannot write: a mounted backup, or the folder of another user (B6). SQLite needs files of its
 * own beside a database in use, so the records are read from a temporary copy. Nothing is written to the folder, and a
 * request that would change something is refused.
 */
import { accessSync, chmodSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BlobStore } from "../../blobs/blob-store.ts";
import type { DataFolder } from "../../configuration/data-folder.ts";
import { AptoveError } from "../../domain/errors.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import type { EventLog } from "../../live/event-log.ts";
import type { RecordStore } from "../../records/record-store.ts";
import { wrapMethods } from "../../system/wrap-methods.ts";

/** Returns true if the folder has records that this user may not write, or if its file system is read-only. */
export function isReadOnlyFolder({ dir, records }: Pick<DataFolder, "dir" | "records">): boolean {
  return existsSync(records) && !(mayWrite(dir) && mayWrite(records));
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Opens a temporary copy of the records, which is deleted when they are closed. */
export async function openRecordsCopy(file: string): Promise<RecordStore> {
  const { openSqliteRecords } = await import("../../records/sql/sqlite/sqlite.ts");
  const opened = await openCopy(file, async (copy) => ({ records: await openSqliteRecords({ file: copy }) }));
  return opened.records;
}

/** The same for a file that has the blobs too. */
export async function openStoreCopy(file: string): Promise<{ records: RecordStore; blobs: BlobStore }> {
  const { openEmbeddedStore } = await import("../../embedded/embedded-store.ts");
  const { records, blobs } = await openCopy(file, (copy) => openEmbeddedStore({ file: copy }));
  const refuse = (): Promise<never> => Promise.reject(onlyRead(file));
  return {
    records,
    blobs: {
      get: (key) => blobs.get(key),
      size: (key) => blobs.size(key),
      list: (prefix) => blobs.list(prefix),
      put: refuse,
      delete: refuse,
    },
  };
}

/** Calls `work` with a file of the records that SQLite can open: a temporary copy if this user cannot write the folder. */
export async function withReadableRecords<T>(
  folder: Pick<DataFolder, "dir" | "records">,
  work: (file: string) => T | Promise<T>,
): Promise<T> {
  if (!isReadOnlyFolder(folder)) return await work(folder.records);
  const { copy, remove } = makeCopy(folder.records);
  try {
    return await work(copy);
  } finally {
    remove();
  }
}

async function openCopy<T extends { records: RecordStore }>(
  file: string,
  open: (copy: string) => Promise<T>,
): Promise<T> {
  const { copy, remove } = makeCopy(file);
  try {
    const opened = await open(copy);
    const { records } = opened;
    const close = (): Promise<void> => records.close().finally(remove);
    return { ...opened, records: { ...readOnlyRecords(records, file), close } };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Copies the records to a temporary folder, which exists until it is removed or the process ends. */
function makeCopy(file: string): { copy: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "aptove-read-"));
  const remove = (): void => {
    process.off("exit", remove);
    rmSync(folder, { recursive: true, force: true });
  };
  // A process that ends by a fault, or at once, closes nothing.
  process.on("exit", remove);
  try {
    const copy = join(folder, "records.db");
    copyUnchanged(file, copy);
    for (const path of [copy, `${copy}-wal`]) if (existsSync(path)) chmodSync(path, 0o600);
    return { copy, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

const copyAttemptsMax = 5;

/** Copies the file and its log with their modes. A process of another user may write meanwhile: then it copies them again. */
function copyUnchanged(file: string, copy: string): void {
  const log = `${file}-wal`;
  for (let attempt = 1; attempt <= copyAttemptsMax; attempt += 1) {
    const before = [stateOf(file), stateOf(log)].join();
    try {
      copyFileSync(file, copy);
      rmSync(`${copy}-wal`, { force: true });
      if (existsSync(log)) copyFileSync(log, `${copy}-wal`);
    } catch (error) {
      throw storageFault(`the records in ${file} could not be copied, to read them`, error);
    }
    if (before === [stateOf(file), stateOf(log)].join()) return;
  }
  throw new AptoveError("storage_failed", `the records in ${file} changed while they were copied; try again`);
}

function stateOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? "none" : `${found.size} ${found.mtimeMs} ${found.ino}`;
}

const reads =
  /\.(?:get|list|find|count|existing|turnIds|shared|is[A-Z]|about|blobStoreId|blobKeysOf|probe|newestOf|begunIn|applying|turnRoom|checkPlace)/;
/** What a process notes of itself. It is written to the copy. */
const ownNotes = [
  "runners.insert",
  "runners.delete",
  "runners.renewLeases",
  "runners.deleteControls",
  "limits.takeRate",
  "audit.insert",
];
/** The turns of other processes are left to those that can write. */
const none = ["runners.list", "runners.takeLostTurns", "summaries.takeLost"];

function readOnlyRecords(records: RecordStore, file: string): RecordStore {
  return wrapMethods(records, (method, name) => {
    if (none.includes(name)) return async () => [];
    if (["unkept.failLost", "budgets.settleLost"].includes(name)) return async () => 0;
    if (reads.test(name) || ownNotes.includes(name) || name === "close") return method;
    return async () => {
      throw onlyRead(file);
    };
  });
}

function onlyRead(file: string): AptoveError {
  const what = `${file} cannot be written by this user, so it is only read; nothing was changed`;
  return new AptoveError("storage_failed", what);
}

/** Leaves the live logs that other processes left behind where they are. */
export function readOnlyLog(log: EventLog): EventLog {
  return {
    append: (...events) => log.append(...events),
    read: (...position) => log.read(...position),
    wait: (...position) => log.wait(...position),
    list: async () => [],
    drop: async () => {},
    close: () => log.close(),
  };
}
