/**
 * The folders of a file store: made and synced so that what is renamed into them survives power loss, and
 * never left through a symbolic link. A folder is named by its path below the root, the root by "".
 */
import { lstatSync, mkdirSync, realpathSync } from "node:fs";
import { realpath, rmdir } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { setImmediate as endOfThisRound } from "node:timers/promises";
import { AptoveError } from "../../domain/errors.ts";
import { createFolder, syncFolder, syncFolderBlocking } from "../../system/durable-files.ts";
import { systemCode } from "../../system/system-error.ts";

/** Folders that are remembered; each costs about 100 bytes, and forgetting one costs an fsync. */
const rememberedMax = 4_096;

export class Folders {
  readonly root: string;
  /** Folders that this process knows to be there for good: made, and synced into their parents. */
  readonly #durable = new Set<string>([""]);
  readonly #running = new Map<string, Promise<void>>();
  readonly #queued = new Map<string, Promise<void>>();

  /** Makes the root, synced into its parents, where it is not there yet. */
  constructor(root: string) {
    const firstMade = mkdirSync(root, { recursive: true, mode: 0o700 });
    this.root = realpathSync(root);
    if (firstMade === undefined) return;
    const last = dirname(realpathSync(firstMade));
    for (let made = this.root; made !== last; made = dirname(made)) syncFolderBlocking(dirname(made));
  }

  /** For each file of each turn; what `join` tidies up is in no name. */
  pathOf(name: string): string {
    return name === "" ? this.root : `${this.root}${sep}${name}`;
  }

  /** Makes a folder and its parents. Gives the folders to `sync` before a file that was put in it is durable. */
  make(folder: string): string[] {
    const toSync = [folder];
    for (let at = folder; !this.#durable.has(at); at = parentOf(at)) toSync.push(parentOf(at));
    // All but the last are new to this process; a parent comes after its folders.
    for (const unknown of toSync.slice(0, -1).toReversed()) {
      const path = this.pathOf(unknown);
      if (!createFolder(path) && !lstatSync(path).isDirectory()) throw notAFolder(unknown);
    }
    return toSync;
  }

  /** Makes what was renamed into the folders durable. `folders` come from `make`. */
  async sync(folders: readonly string[]): Promise<void> {
    await Promise.all(folders.map((folder) => this.#syncOne(folder)));
    if (this.#durable.size > rememberedMax) this.#durable.clear();
    for (const folder of ["", ...folders]) this.#durable.add(folder);
  }

  /** One fsync answers everybody who asked before it began. */
  #syncOne(folder: string): Promise<void> {
    const queued = this.#queued.get(folder);
    if (queued !== undefined) return queued;
    const begin = (): Promise<void> => {
      this.#queued.delete(folder);
      return this.#beginSync(folder);
    };
    // Blobs of one turn are written at the same time, and ready in the same round of the event loop.
    const next = (this.#running.get(folder) ?? endOfThisRound()).then(begin, begin);
    this.#queued.set(folder, next);
    return next;
  }

  #beginSync(folder: string): Promise<void> {
    const sync = syncIfPresent(this.pathOf(folder)).finally(() => this.#running.delete(folder));
    this.#running.set(folder, sync);
    return sync;
  }

  /** Says that a folder, and so perhaps its parents, was found gone. */
  forget(folder: string): void {
    for (let at = folder; at !== ""; at = parentOf(at)) this.#durable.delete(at);
  }

  /** Takes a folder and its parents away as far as they are empty, and makes that durable. */
  async prune(folder: string): Promise<void> {
    let at = folder;
    while (at !== "" && (await isRemoved(this.pathOf(at)))) {
      this.#durable.delete(at);
      at = parentOf(at);
    }
    await this.#syncOne(at);
  }

  /** Refuses a folder that a symbolic link stands in the way of; one that is not there is ENOENT. */
  async checkReal(folder: string): Promise<void> {
    if (folder !== "" && (await realpath(this.pathOf(folder))) !== this.pathOf(folder)) throw notAFolder(folder);
  }
}

/** "" for a name without a parent. */
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
    // The last code is what Windows says of a folder that somebody reads.
    if (["ENOTEMPTY", "EEXIST", "EBUSY", "EPERM"].includes(systemCode(error))) return false;
    throw error;
  }
}

async function syncIfPresent(path: string): Promise<void> {
  try {
    await syncFolder(path);
  } catch (error) {
    // A delete of the folder's last file removed it: there is nothing left to make durable.
    if (systemCode(error) !== "ENOENT") throw error;
  }
}
