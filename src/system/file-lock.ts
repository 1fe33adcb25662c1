/**
 * A lock with the name of a file, which one caller at a time holds across all processes of a machine (B4). It is SQLite's
 * own lock on an empty database, so the system releases it when its holder ends in any way, `kill -9` included. A process
 * keeps the databases of its last locks open, so that it takes the same lock again without opening anything.
 */
import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type Database from "better-sqlite3";
import { anySignal, pause } from "./abort.ts";
import { createFolder, createPrivateFile } from "./durable-files.ts";
import { beginIfFree, isSqliteBusy } from "./sqlite-begin.ts";
import { systemCode } from "./system-error.ts";

/** Longest pause in milliseconds before a lock that another process holds is tried again. */
const retryPauseMsMax = 20;
/** Longest pause in milliseconds in the queue of this process, which wakes its next caller by itself. */
const queuePauseMs = 60_000;

export interface LockOptions {
  /** Longest wait for the lock in milliseconds, with the time in the queue of this process. */
  waitMsMax: number;
  /** Ends the waiting, never the body. Its reason is thrown. */
  signal?: AbortSignal;
}

/** Another caller held the lock for too long. */
export class FileLockTimeout extends Error {
  /** Absolute path of the lock. */
  readonly file: string;
  readonly waitedMs: number;

  constructor(file: string, waitedMs: number) {
    super(`another process or caller has held ${file} for ${waitedMs} ms`);
    this.file = file;
    this.waitedMs = waitedMs;
  }
}

/** The lock could not be taken. The cause is the error of the system or of SQLite. */
export class FileLockFailure extends Error {
  constructor(file: string, cause: unknown) {
    super(`the lock ${file} could not be taken`, { cause });
  }
}

/** The queue of each lock in this process, by its path. It resolves when the last caller has released the lock. */
const queues = new Map<string, Promise<void>>();

/** Keeps locks from being collected, and so released, while their bodies wait for something that never comes. */
const held = new Set<OpenLock>();

/** The open databases of locks that no caller of this process holds, by their path. The one used last is the last. */
const kept = new Map<string, OpenLock>();
/** Windows cannot delete open files, so none is kept there. */
const keptMax = process.platform === "win32" ? 0 : 16;

/**
 * Runs the body while no other caller, in this or another process, runs one under the same path. Callers of this process
 * are served in order; between processes there is no order. Waiting blocks nothing.
 *
 * - The file is created (0600) if it is missing, and so is its folder (0700), but not that folder's parent.
 * - The holder of the lock may delete the file. The waiting callers then use a new one.
 * - A body that takes the same lock again waits for itself.
 *
 * Throws a `FileLockTimeout`, a `FileLockFailure`, the reason of the signal, and what the body throws.
 */
export async function withFileLock<T>(path: string, body: () => T | Promise<T>, options: LockOptions): Promise<T> {
  options.signal?.throwIfAborted();
  const file = resolve(path);
  const patience = new Patience(file, options);
  const leaveQueue = await enterQueue(file, patience);
  try {
    const lock = await takeLock(file, patience);
    held.add(lock);
    try {
      return await body();
    } finally {
      held.delete(lock);
      lock.release();
      keep(file, lock);
    }
  } finally {
    leaveQueue();
  }
}

/** The open database of a lock. */
class OpenLock {
  readonly #database: Database.Database;
  readonly #file: string;
  readonly #identity: string;

  constructor(file: string, identity: string, open: typeof Database) {
    this.#file = file;
    this.#identity = identity;
    this.#database = new open(file, { timeout: 0, fileMustExist: true });
    try {
      // Nothing is ever written, but SQLite would make a file of its journal for each transaction.
      this.#database.pragma("journal_mode = MEMORY");
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** True if the file at the path is still the one that was opened. A lock on a deleted file excludes no other caller. */
  get isCurrent(): boolean {
    return identityOf(this.#file) === this.#identity;
  }

  /** Takes the lock. Returns false if another caller has it. */
  take(): boolean {
    if (!beginIfFree(this.#database)) return false;
    if (this.isCurrent) return true;
    this.release();
    return false;
  }

  release(): void {
    this.#database.exec("ROLLBACK");
  }

  close(): void {
    this.#database.close();
  }
}

/** Keeps the database of a free lock open, and closes the one that was not used for the longest time. */
function keep(file: string, lock: OpenLock): void {
  kept.set(file, lock);
  if (kept.size <= keptMax) return;
  const [[oldest, unused] = []] = kept;
  if (oldest !== undefined) kept.delete(oldest);
  unused?.close();
}

/** The time that one caller still waits. */
class Patience {
  readonly #file: string;
  readonly #waitMsMax: number;
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: number;

  constructor(file: string, { waitMsMax, signal }: LockOptions) {
    this.#file = file;
    this.#waitMsMax = waitMsMax;
    this.#signal = signal;
    this.#deadline = performance.now() + waitMsMax;
  }

  /** Throws when no time is left. */
  check(): void {
    this.#signal?.throwIfAborted();
    if (performance.now() < this.#deadline) return;
    throw new FileLockTimeout(this.#file, this.#waitMsMax);
  }

  /** Waits. Ends early when no time is left, or when `wake` aborts. */
  async pause(ms: number, wake?: AbortSignal): Promise<void> {
    const rest = Math.max(0, this.#deadline - performance.now());
    await pause(Math.min(ms, rest), anySignal(this.#signal, wake));
  }
}

/** Resolves when the caller is the first of its queue, with a function that admits the next one. */
async function enterQueue(file: string, patience: Patience): Promise<() => void> {
  const before = queues.get(file);
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const queue = before === undefined ? left : before.then(() => left);
  queues.set(file, queue);
  void queue.then(() => {
    if (queues.get(file) === queue) queues.delete(file);
  });
  if (before === undefined) return leave;
  const admitted = new AbortController();
  void before.then(() => admitted.abort());
  try {
    while (!admitted.signal.aborted) {
      patience.check();
      await patience.pause(queuePauseMs, admitted.signal);
    }
  } catch (error) {
    leave();
    throw error;
  }
  return leave;
}

async function takeLock(file: string, patience: Patience): Promise<OpenLock> {
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, retryPauseMsMax)) {
    const lock = takeKept(file) ?? (await openLock(file));
    if (lock !== null && tryLock(file, lock)) return lock;
    patience.check();
    await patience.pause(Math.random() * pauseMs);
  }
}

/** Returns the open database of the lock. Null if there is none, or only that of a deleted file. */
function takeKept(file: string): OpenLock | null {
  const lock = kept.get(file);
  if (lock === undefined) return null;
  kept.delete(file);
  if (lock.isCurrent) return lock;
  lock.close();
  return null;
}

/** Opens the database of the lock. Null if its file was deleted meanwhile, or another caller keeps it from being read. */
async function openLock(file: string): Promise<OpenLock | null> {
  // Loaded here, because most commands never lock anything.
  const { default: open } = await import("better-sqlite3");
  let found: string | null = null;
  try {
    makeFile(file);
    found = identityOf(file);
    return found === null ? null : new OpenLock(file, found, open);
  } catch (error) {
    // The file was deleted between two of these steps: then the error is not about the lock.
    if ((found !== null && identityOf(file) !== found) || isSqliteBusy(error)) return null;
    throw new FileLockFailure(file, error);
  }
}

/** Takes the lock. Returns false if another caller has it. */
function tryLock(file: string, lock: OpenLock): boolean {
  try {
    if (lock.take()) return true;
    keep(file, lock);
    return false;
  } catch (error) {
    lock.close();
    if (!lock.isCurrent) return false;
    throw new FileLockFailure(file, error);
  }
}

/** Creates the file. SQLite would create one that every user can read (B6). */
function makeFile(file: string): void {
  for (let isSecondTry = false; ; isSecondTry = true) {
    try {
      createPrivateFile(file);
      return;
    } catch (error) {
      if (systemCode(error) !== "ENOENT" || isSecondTry) throw error;
      createFolder(dirname(file));
    }
  }
}

/** Identifies a file. Its number is used again after it is deleted; its number and time of birth together are not. */
function identityOf(file: string): string | null {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`;
}
