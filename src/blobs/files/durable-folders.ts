/**
 * The folders of a file store. They are created and synced so that files renamed into them survive power loss, and no
 * symbolic link leads out of them. A folder is named by its path below the root; the root is "".
 */
import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { realpath, rmdir } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { setImmediate as endOfThisRound } from "node:timers/promises";
import { AptoveError } from "../../domain/errors.ts";
import { createFolder, syncFolder, syncFolderBlocking } from "../../system/durable-files.ts";
import { systemCode } from "../../system/system-error.ts";

/** The maximum number of remembered folders. Each costs about 100 bytes, and forgetting one costs an fsync. */
const rememberedMax = 4_096;

export class DurableFolders {
  readonly root: string;
  /** Folders that this process knows to be durable: created, and synced into their parents. */
  readonly #durable = new Set<string>([""]);
  readonly #running = new Map<string, Promise<void>>();
  readonly #queued = new Map<string, Promise<void>>();

  /** Creates the root, synced into its parents, if it does not exist. */
  constructor(root: string) {
    const firstMade = mkdirSync(root, { recursive: true, mode: 0o700 });
    this.root = realpathSync(root);
    if (firstMade === undefined) return;
    const last = dirname(realpathSync(firstMade));
    for (let made = this.root; made !== last; made = dirname(made)) syncFolderBlocking(dirname(made));
  }

  /** Returns the path of a name. It runs for each file of each turn, and a name never needs the normalising of `join`. */
  pathOf(name: string): string {
    return name === "" ? this.root : `${this.root}${sep}${name}`;
  }

  /** Creates a folder and its parents. Returns the folders to `sync` before a file in it is durable. */
  make(folder: string): string[] {
    const toSync = [folder];
    for (let at = folder; !this.#durable.has(at); at = parentOf(at)) toSync.push(parentOf(at));
    // All but the last are new to this process. Parents are created before the folders in them.
    for (const unknown of toSync.slice(0, -1).toReversed()) {
      const path = this.pathOf(unknown);
      if (!createFolder(path) && !lstatSync(path).isDirectory()) throw notAFolder(unknown);
    }
    return toSync;
  }

  /** Makes files that were renamed into the folders durable. `folders` come from `make`. */
  async sync(folders: readonly string[]): Promise<void> {
    await Promise.all(folders.map((folder) => this.#syncOne(folder)));
    if (this.#durable.size > rememberedMax) this.#durable.clear();
    for (const folder of ["", ...folders]) this.#durable.add(folder);
  }

  /** Syncs one folder. One fsync serves all callers that came before it began. */
  #syncOne(folder: string): Promise<void> {
    const queued = this.#queued.get(folder);
    if (queued !== undefined) return queued;
    const begin = (): Promise<void> => {
      this.#queued.delete(folder);
      return this.#beginSync(folder);
    };
    // The blobs of one turn are written at the same time, and are ready in the same round of the event loop.
    const next = (this.#running.get(folder) ?? endOfThisRound()).then(begin, begin);
    this.#queued.set(folder, next);
    return next;
  }

  #beginSync(folder: string): Promise<void> {
    const sync = syncIfPresent(this.pathOf(folder)).finally(() => this.#running.delete(folder));
    this.#running.set(folder, sync);
    return sync;
  }

  /** Forgets a folder and its parents, because the folder was found missing. */
  forget(folder: string): void {
    for (let at = folder; at !== ""; at = parentOf(at)) this.#durable.delete(at);
  }

  /** Removes a folder and its parents as far as they are empty, and makes that durable. */
  async prune(folder: string): Promise<void> {
    let at = folder;
    while (at !== "" && (await isRemoved(this.pathOf(at)))) {
      this.#durable.delete(at);
      at = parentOf(at);
    }
    await this.#syncOne(at);
  }

  /** Throws if a symbolic link is part of the folder's path, and ENOENT if the folder does not exist. */
  async checkReal(folder: string): Promise<void> {
    if (folder !== "" && (await realpath(this.pathOf(folder))) !== this.pathOf(folder)) throw notAFolder(folder);
  }
}

/** Returns the parent folder of a name, or "" if it has none. */
export function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf("/")));
}

function notAFolder(folder: string): AptoveError {
  return new AptoveError("storage_failed", `${folder} is not a real folder of the store`);
}

async function isRemoved(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return true;
    // Windows reports the last code for a folder that another process is reading.
    if (["ENOTEMPTY", "EEXIST", "EBUSY", "EPERM"].includes(systemCode(error))) return false;
    throw error;
  }
}

async function syncIfPresent(path: string): Promise<void> {
  try {
    await syncFolder(path);
  } catch (error) {
    // The folder was removed with its last file, so there is nothing left to make durable.
    if (systemCode(error) !== "ENOENT") throw error;
  }
}
