/**
 * Writes planned changes to a working copy, all or none (X7), also if the process crashes. Everything is staged in
 * `.aptove-apply` at the top of the working copy, on the same disk: new contents, old files, and a journal of the
 * changes. The changes are committed at the moment when the journal is renamed to `committed.json`. An apply that ended
 * before that, by an error or by kill -9, is rolled back at once or by the next apply.
 */
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { AptoveError } from "../../../domain/errors.ts";
import type { PlannedChange } from "../../../domain/file-bundle.ts";
import { sha256 } from "../../../domain/ids.ts";
import { storageFaultCode } from "../../../domain/storage-fault.ts";
import { syncFolderBlocking } from "../../../system/durable-files.ts";
import { isProcessAlive } from "../../../system/processes.ts";
import { readIfPresent } from "../../../system/read-files.ts";
import { systemCode } from "../../../system/system-error.ts";

const stagingName = ".aptove-apply";

interface JournalEntry {
  path: string;
  /** The hashes of the content before and after. Null where there is no file. */
  before: string | null;
  after: string | null;
}

interface Journal {
  entries: JournalEntry[];
  /** The folders that are created for new files, outermost first. */
  folders: string[];
}

interface Staging {
  root: string;
  dir: string;
}

/** Called before each file is moved into place. Tests stop the run here. */
export type StepListener = (index: number) => void;

/**
 * Writes the changes. Throws `file_bundle_conflict` if a file has changed since the plan or another apply runs here,
 * and `storage_full` or `storage_failed` if the disk fails. Then nothing has changed.
 */
export function writeChanges(root: string, changes: readonly PlannedChange[], onStep?: StepListener): void {
  const staging = openStaging(root);
  try {
    stage(staging, changes);
    for (const [index, change] of changes.entries()) {
      onStep?.(index);
      putInPlace(staging, change, index);
    }
    syncFolders(root, changes);
    renameSync(join(staging.dir, "journal.json"), join(staging.dir, "committed.json"));
    syncFolderBlocking(staging.dir);
  } catch (error) {
    undo(staging);
    throw asStorageFault(error);
  }
  rmSync(staging.dir, { recursive: true, force: true });
}

function undo(staging: Staging): void {
  try {
    rollBack(staging);
  } catch (error) {
    const detail = `the changes could not be undone; the old files are in ${staging.dir}, and the next apply tries again`;
    throw new AptoveError("storage_failed", detail, { cause: error });
  }
}

/**
 * Rolls back what a killed apply left half done. Returns the paths that it restored. Null if there was nothing to
 * restore.
 */
export function repairWorkingCopy(root: string): string[] | null {
  const dir = join(root, stagingName);
  const owner = readText(join(dir, "owner"));
  if (!existsSync(dir)) return null;
  if (owner !== null && isOtherAlive(Number(owner))) throw busy(root, `process ${owner}`);
  return rollBack({ root, dir });
}

function openStaging(root: string): Staging {
  repairWorkingCopy(root);
  const dir = join(root, stagingName);
  const aside = `${dir}.${process.pid}`;
  try {
    mkdirSync(aside, { mode: 0o700 });
    writeFileSync(join(aside, "owner"), String(process.pid));
    // The folder appears with its owner's file in it. The rename fails if another apply was faster.
    renameSync(aside, dir);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    if (["EEXIST", "ENOTEMPTY"].includes(systemCode(error))) throw busy(root, "a process");
    throw asStorageFault(error);
  }
  return { root, dir };
}

function busy(root: string, owner: string): AptoveError {
  const detail = `another apply (${owner}) is writing to ${root}; wait until it has ended`;
  return new AptoveError("file_bundle_conflict", detail);
}

/** Does everything that can run out of space, before any file of the working copy is touched. */
function stage(staging: Staging, changes: readonly PlannedChange[]): void {
  const folders = new Set<string>();
  for (const [index, change] of changes.entries()) {
    const target = join(staging.root, change.path);
    if (change.before !== null) keepOld(target, oldFile(staging, index));
    if (change.after !== null) {
      writeFileSync(newFile(staging, index), change.after, { flush: true });
      if (change.before !== null) chmodSync(newFile(staging, index), lstatSync(target).mode & 0o7777);
    }
    for (const folder of missingFolders(staging.root, change.path)) folders.add(folder);
  }
  const journal: Journal = {
    entries: changes.map(({ path, before, after }) => ({
      path,
      before: before?.sha256 ?? null,
      after: after === null ? null : sha256(after),
    })),
    folders: [...folders],
  };
  const aside = join(staging.dir, "journal.tmp");
  writeFileSync(aside, JSON.stringify(journal), { flush: true });
  renameSync(aside, join(staging.dir, "journal.json"));
  syncFolderBlocking(staging.dir);
}

function oldFile(staging: Staging, index: number): string {
  return join(staging.dir, `old-${index}`);
}

function newFile(staging: Staging, index: number): string {
  return join(staging.dir, `new-${index}`);
}

/** Keeps the old file under a second name. If the file system has no hard links, copies it. */
function keepOld(target: string, kept: string): void {
  try {
    linkSync(target, kept);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS"].includes(systemCode(error))) throw error;
    writeFileSync(kept, readFileSync(target), { mode: lstatSync(target).mode & 0o777, flush: true });
  }
}

/** Returns the folders that the file needs and that do not exist, relative, outermost first. */
function missingFolders(root: string, path: string): string[] {
  const missing: string[] = [];
  for (let folder = dirname(path); folder !== "." && !existsSync(join(root, folder)); folder = dirname(folder))
    missing.unshift(folder);
  return missing;
}

function putInPlace(staging: Staging, change: PlannedChange, index: number): void {
  const target = join(staging.root, change.path);
  if (hashOf(target) !== (change.before?.sha256 ?? null)) {
    throw new AptoveError("file_bundle_conflict", `"${change.path}" changed while the bundle was being written`);
  }
  if (change.after === null) {
    unlinkSync(target);
  } else if (change.before === null) {
    mkdirSync(dirname(target), { recursive: true });
    // A link, unlike a rename, fails if a file of that name has appeared in the meantime.
    linkOrRename(newFile(staging, index), target);
  } else {
    renameSync(newFile(staging, index), target);
  }
}

function linkOrRename(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(systemCode(error))) throw error;
    renameSync(from, to);
  }
}

/** Returns the hash of a file. Null if there is no file. */
function hashOf(path: string): string | null {
  const content = readIfPresent(path);
  return content === null ? null : sha256(content);
}

/** Restores every file. A file that was edited in the meantime stays as it is. */
function rollBack(staging: Staging): string[] {
  const text = readText(join(staging.dir, "journal.json"));
  const restored: string[] = [];
  if (text !== null) {
    const journal = JSON.parse(text) as Journal;
    for (const [index, entry] of journal.entries.entries()) {
      if (restoreEntry(staging, entry, index)) restored.push(entry.path);
    }
    for (const folder of journal.folders.toReversed()) removeIfEmpty(join(staging.root, folder));
  }
  rmSync(staging.dir, { recursive: true, force: true });
  return restored;
}

function restoreEntry(staging: Staging, entry: JournalEntry, index: number): boolean {
  const target = join(staging.root, entry.path);
  const now = hashOf(target);
  // Only what the interrupted apply itself wrote or removed is undone.
  if (now === entry.before || now !== entry.after) return false;
  if (entry.before === null) unlinkSync(target);
  else renameSync(oldFile(staging, index), target);
  return true;
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(systemCode(error))) throw error;
  }
}

function syncFolders(root: string, changes: readonly PlannedChange[]): void {
  for (const folder of new Set(changes.map((change) => dirname(join(root, change.path))))) {
    syncFolderBlocking(folder);
  }
}

/** Returns true if another process has the id: this one never meets an apply of its own. */
function isOtherAlive(pid: number): boolean {
  return pid !== process.pid && isProcessAlive(pid);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

function asStorageFault(error: unknown): unknown {
  const reason = systemCode(error);
  if (error instanceof AptoveError || reason === "") return error;
  const { path = "a file" } = error as NodeJS.ErrnoException;
  const code = storageFaultCode(error);
  const fix = code === "storage_full" ? "free some disk space" : "check who owns the files";
  return new AptoveError(code, `${path} cannot be written (${reason}); nothing was changed; ${fix}`, { cause: error });
}
