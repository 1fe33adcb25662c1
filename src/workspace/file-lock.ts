/**
 * One at a time, over all processes of a machine (B4): a lock that has the name of a file. It is SQLite's own
 * lock on an empty database, so the system frees it when its holder ends in whatever way, `kill -9` too.
 */
import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type Database from "better-sqlite3";
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { storageFault } from "../domain/storage-fault.ts";
import { systemCode } from "../system/system-error.ts";

/** Longest pause between two looks at a lock that another process has. */
const lookPauseMsMax = 20;
/** Longest pause between two looks at the line of this process, which calls by itself. */
const lineLookMs = 60_000;

export interface LockOptions {
  /** How long the lock is waited for, the line of this process included. */
  waitMsMax?: number;
  /** Ends the waiting, never the body; its reason is thrown. */
  signal?: AbortSignal;
}

/** Who of this process comes after whom, by the path of the lock: it settles when the last of the line has gone. */
const lines = new Map<string, Promise<void>>();

/** A lock that only a body knows which waits for nothing that can come would be collected, and so be free. */
const held = new Set<Database.Database>();

/**
 * Runs the body while nobody else, in this or another process, runs one under the same path. Callers of this process
 * are served in line; between processes there is no order. Waiting blocks nothing.
 *
 * - The file is made (0600) where it is not there, and so is its folder (0700), but not that folder's parent.
 * - Whoever has the lock may delete the file: those who wait then meet at a new one.
 * - A body that takes the same lock again waits for itself.
 *
 * Throws `workspace_busy` when it waited too long; `storage_failed` or `storage_full` when there can be no such file.
 */
export async function withFileLock<T>(path: string, body: () => T | Promise<T>, options: LockOptions = {}): Promise<T> {
  options.signal?.throwIfAborted();
  const file = resolve(path);
  const patience = new Patience(file, options);
  const leaveLine = await standInLine(file, patience);
  try {
    const lock = await takeLock(file, patience);
    held.add(lock);
    try {
      return await body();
    } finally {
      held.delete(lock);
      lock.close();
    }
  } finally {
    leaveLine();
  }
}

/** How much longer one caller waits. */
class Patience {
  readonly #file: string;
  readonly #waitMsMax: number;
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: number;

  constructor(file: string, { waitMsMax = limits.fileLockWaitMsMax, signal }: LockOptions) {
    this.#file = file;
    this.#waitMsMax = waitMsMax;
    this.#signal = signal;
    this.#deadline = performance.now() + waitMsMax;
  }

  /** Throws when there is none left. */
  check(): void {
    this.#signal?.throwIfAborted();
    if (performance.now() < this.#deadline) return;
    const waited = `${(this.#waitMsMax / 1_000).toLocaleString("en")} s`;
    const detail = `somebody else has had ${this.#file} for ${waited}; try again when they are done`;
    throw new AptoveError("workspace_busy", detail);
  }

  /** Ends after this time, or sooner: when there is no patience left, or `enough` says so. */
  async pause(ms: number, enough?: AbortSignal): Promise<void> {
    const rest = Math.max(0, this.#deadline - performance.now());
    const signal = AbortSignal.any([this.#signal, enough].filter((given) => given !== undefined));
    try {
      await delay(Math.min(ms, rest), undefined, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** Resolves when the caller is the first of its line, with what lets the next one come. */
async function standInLine(file: string, patience: Patience): Promise<() => void> {
  const before = lines.get(file);
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const line = before === undefined ? left : before.then(() => left);
  lines.set(file, line);
  void line.then(() => {
    if (lines.get(file) === line) lines.delete(file);
  });
  const called = new AbortController();
  if (before === undefined) called.abort();
  else void before.then(() => called.abort());
  try {
    while (!called.signal.aborted) {
      patience.check();
      await patience.pause(lineLookMs, called.signal);
    }
  } catch (error) {
    leave();
    throw error;
  }
  return leave;
}

async function takeLock(file: string, patience: Patience): Promise<Database.Database> {
  // Loaded here: most commands never lock anything.
  const { default: open } = await import("better-sqlite3");
  for (let pause = 1; ; pause = Math.min(pause * 2, lookPauseMsMax)) {
    const lock = tryLock(file, open);
    if (lock !== null) return lock;
    patience.check();
    await patience.pause(Math.random() * pause);
  }
}

/** Null: somebody else has it. */
function tryLock(file: string, open: typeof Database): Database.Database | null {
  let found: string | null = null;
  try {
    makeFile(file);
    found = identityOf(file);
    if (found === null) return null;
    const database = new open(file, { timeout: 0, fileMustExist: true });
    // Whoever had the lock may have deleted the file: a lock on one that nobody else can find holds off nobody.
    if (tryBegin(database) && identityOf(file) === found) return database;
    database.close();
    return null;
  } catch (error) {
    // Deleted between two of these steps: what is said of it then says nothing about the lock.
    if (found !== null && identityOf(file) !== found) return null;
    throw storageFault(`the lock ${file} could not be taken`, error);
  }
}

/** Of an empty database nothing is written: the transaction is the lock, and no more. */
function tryBegin(database: Database.Database): boolean {
  try {
    database.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (systemCode(error).startsWith("SQLITE_BUSY")) return false;
    throw error;
  }
}

/** Made here, because SQLite would let everybody read it (B6). */
function makeFile(file: string): void {
  for (let isSecondTry = false; ; isSecondTry = true) {
    try {
      closeSync(openSync(file, "wx", 0o600));
      return;
    } catch (error) {
      const code = systemCode(error);
      if (code === "EEXIST") return;
      if (code !== "ENOENT" || isSecondTry) throw error;
      makeFolder(dirname(file));
    }
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** The number of a file is given again after it was deleted; its number and its birth together are not. */
function identityOf(file: string): string | null {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? null : `${stat.dev} ${stat.ino} ${stat.birthtimeNs}`;
}
