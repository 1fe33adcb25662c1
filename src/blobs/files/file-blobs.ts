/**
 * Blobs as files: the blob `turns/1/run.json` is the file `<folder>/turns/1/run.json` (docs/formats/blobs.md). A blob is written
 * to a temporary file, synced, and linked to its name, which fails if that name exists. Then its folder is synced. So a
 * reader sees the whole blob or none, acknowledged blobs survive kill -9 and power loss (B3), and no blob is ever replaced.
 * Processes need not know of each other (B4).
 */
import { randomUUID } from "node:crypto";
import { constants, linkSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { lstat, open, readdir, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { createDurableFile } from "../../system/durable-files.ts";
import { noFollowFlag } from "../../system/read-files.ts";
import { isAbsence, systemCode } from "../../system/system-error.ts";
import { blobExists, checkBlobKey, isBlobKey, type BlobStore } from "../blob-store.ts";
import { DurableFolders, parentOf } from "./durable-folders.ts";

/**
 * The folder in which blobs are written before they have their name. No key can begin with it, so a file that a crashed
 * writer left is never listed nor read. Because it is one folder, removing old files needs no walk through the store.
 */
const asideFolder = "~aside";
/** How often a put creates its folder again, if deletes of the folder's last blob keep removing it. */
const placeAttemptsMax = 10;

/** Opens the blobs of a folder. Creates the folder if it does not exist. Throws `storage_full` or `storage_failed`. */
export function fileBlobs({ folder }: { folder: string }): BlobStore {
  try {
    const folders = new DurableFolders(folder);
    mkdirSync(folders.pathOf(asideFolder), { recursive: true, mode: 0o700 });
    sweepAside(folders.pathOf(asideFolder));
    return new FileBlobs(folders);
  } catch (error) {
    throw storageFault(`the blobs in ${folder} could not be opened`, error);
  }
}

class FileBlobs implements BlobStore {
  readonly #folders: DurableFolders;

  constructor(folders: DurableFolders) {
    this.#folders = folders;
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    checkBlobKey(key);
    const aside = this.#folders.pathOf(`${asideFolder}/${randomUUID()}`);
    try {
      await createDurableFile(aside, bytes);
      await this.#nameFile(aside, key, bytes);
    } catch (error) {
      // If this fails too, the next opening removes the file. The first failure is the one to report.
      await Promise.allSettled([rm(aside, { force: true })]);
      throw storageFault(`the blob ${key} could not be written`, isAbsence(error) ? this.#gone(error) : error);
    }
  }

  /** The store makes its folder only when it is opened: one that was moved away can be put back. */
  #gone(cause: unknown): AptoveError {
    const what = `the folder ${this.#folders.root}, or a folder in it, was moved or deleted while it was in use`;
    return new AptoveError("storage_failed", `${what}, so nothing more is stored; put it back, or restart the server`, {
      cause,
    });
  }

  /** Gives a temporary file its permanent name. */
  async #nameFile(aside: string, key: string, bytes: Uint8Array): Promise<void> {
    const folder = parentOf(key);
    for (let attempt = 1; attempt <= placeAttemptsMax; attempt += 1) {
      const named = this.#name(aside, key);
      if (named === null) {
        this.#folders.forget(folder);
        continue;
      }
      const kept = named.isOurs ? null : await this.get(key);
      // The process that wrote the existing file may not have synced its name yet, and this put acknowledges the same bytes.
      await this.#folders.sync(named.toSync);
      if (named.isOurs) return;
      // Null means that the blob was deleted in the meantime.
      if (kept === null) continue;
      await rm(aside);
      if (Buffer.compare(kept, bytes) !== 0) throw blobExists(key);
      return;
    }
    throw new AptoveError("storage_failed", `the folder ${folder} or the blob in it is removed again at every attempt`);
  }

  /** Names the file. Returns null if a delete of the folder's last blob has just removed the folder. */
  #name(aside: string, key: string): { isOurs: boolean; toSync: string[] } | null {
    try {
      const toSync = this.#folders.make(parentOf(key));
      return { isOurs: nameOnce(aside, this.#folders.pathOf(key)), toSync };
    } catch (error) {
      if (systemCode(error) === "ENOENT") return null;
      throw error;
    }
  }

  async get(key: string): Promise<Uint8Array | null> {
    checkBlobKey(key);
    try {
      await this.#folders.checkReal(parentOf(key));
      const file = await open(this.#folders.pathOf(key), constants.O_RDONLY | noFollowFlag);
      try {
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      if (hasNoBlob(error)) return null;
      throw storageFault(`the blob ${key} could not be read`, error);
    }
  }

  async delete(key: string): Promise<void> {
    checkBlobKey(key);
    if ((await this.size(key)) === null) return;
    try {
      await unlink(this.#folders.pathOf(key));
      await this.#folders.prune(parentOf(key));
    } catch (error) {
      if (!hasNoBlob(error)) throw storageFault(`the blob ${key} could not be deleted`, error);
    }
  }

  async list(prefix: string): Promise<string[]> {
    const folder = parentOf(prefix);
    // No key begins with such a prefix.
    if (folder !== "" && !isBlobKey(folder)) return [];
    try {
      await this.#folders.checkReal(folder);
      return await Array.fromAsync(this.#keysIn(folder, prefix));
    } catch (error) {
      if (hasNoBlob(error)) return [];
      throw storageFault(`the blobs of ${JSON.stringify(prefix)} could not be listed`, error);
    }
  }

  async *#keysIn(folder: string, prefix: string): AsyncGenerator<string> {
    for (const entry of await this.#entriesOf(folder)) {
      const key = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (!key.startsWith(prefix) || !isBlobKey(key)) continue;
      if (entry.isDirectory()) yield* this.#keysIn(key, prefix);
      else if (entry.isFile()) yield key;
    }
  }

  async #entriesOf(folder: string) {
    try {
      return await readdir(this.#folders.pathOf(folder), { withFileTypes: true });
    } catch (error) {
      if (hasNoBlob(error)) return [];
      throw error;
    }
  }

  async size(key: string): Promise<number | null> {
    checkBlobKey(key);
    try {
      await this.#folders.checkReal(parentOf(key));
      const file = await lstat(this.#folders.pathOf(key));
      return file.isFile() ? file.size : null;
    } catch (error) {
      if (hasNoBlob(error)) return null;
      throw storageFault(`the size of the blob ${key} could not be read`, error);
    }
  }
}

/** Gives the temporary file its name and removes the temporary name. Returns false if the name exists. */
function nameOnce(aside: string, path: string): boolean {
  try {
    linkSync(aside, path);
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    if (systemCode(error) === "ENOENT") throw error;
    // A file system without links (exFAT, some network and phone file systems) has no other operation that refuses to
    // replace. There, two processes that put other bytes under one key in the same instant are not detected.
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false;
    renameSync(aside, path);
    return true;
  }
  unlinkSync(aside);
  return true;
}

/** Returns whether the error means that no blob has the key: nothing is at its path, or a folder is. */
function hasNoBlob(error: unknown): boolean {
  return isAbsence(error) || systemCode(error) === "EISDIR";
}

/** Removes the files of writers that crashed long ago. */
function sweepAside(path: string): void {
  for (const name of readdirSync(path)) {
    const file = lstatSync(join(path, name), { throwIfNoEntry: false });
    const age = file === undefined ? 0 : Date.now() - file.mtimeMs;
    if (age > limits.abandonedFileAgeMs) rmSync(join(path, name), { force: true, recursive: true });
  }
}
