/**
 * Writes planned changes to a working copy all or nothing (X7), also over a crash. Everything is staged in
 * `.aptove-apply` at the top of the working copy, on its own disk: new contents, the old files, and a journal
 * of what is to be done. The changes count from the moment the journal is renamed to `committed.json`; an
 * apply that ended before that, by a fault or by kill -9, is rolled back, at once or by the next one.
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
  /** Hash of the content before and after; null where there is no file. */
  before: string | null;
  after: string | null;
}

interface Journal {
  entries: JournalEntry[];
  /** Folders that are made for new files, outermost first. */
  folders: string[];
}

interface Staging {
  root: string;
  dir: string;
}

/** Called before each file is put in its place; tests cut the run here. */
export type StepListener = (index: number) => void;

/**
 * Throws `file_bundle_conflict` when a file is no longer as it was planned, or another apply runs here;
 * `storage_full` or `storage_failed` when the disk refuses. Then nothing has changed.
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
    const detail = `the changes could not be undone; the old files are in ${staging.dir}, the next apply tries again`;
    throw new AptoveError("storage_failed", detail, { cause: error });
  }
}

/** Rolls back what a killed apply left half done. Gives the paths that it restored, or null: there was nothing. */
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
    // Appears with its owner in it; fails where another apply was faster.
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

/** Everything that can run out of room happens here, before any file of the working copy is touched. */
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

/** The old file is kept by a second name of it; where the disk knows none, by a copy. */
function keepOld(target: string, kept: string): void {
  try {
    linkSync(target, kept);
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS"].includes(systemCode(error))) throw error;
    writeFileSync(kept, readFileSync(target), { mode: lstatSync(target).mode & 0o777, flush: true });
  }
}

/** Relative paths of the folders that the file needs and that are not there, outermost first. */
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
    // A link, unlike a rename, refuses to write over a file that came in between.
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

/** Null: there is no file. */
function hashOf(path: string): string | null {
  const content = readIfPresent(path);
  return content === null ? null : sha256(content);
}

/** Puts every file back as it was; one that somebody edited since stays as that person left it. */
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
  // Only what the cut apply itself wrote or removed is undone.
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
