/**
 * Tells whether an open database is still the file at its path. A file that was deleted or moved away can be written as before through
 * its open handle, so without this check a store would acknowledge what is lost when the process ends (B3).
 */
import { dirname, resolve } from "node:path";
import type Database from "better-sqlite3";
import { AptoveError } from "../../../domain/errors.ts";
import { storageFault } from "../../../domain/storage-fault.ts";
import { nullIfAbsent } from "../../../system/system-error.ts";
import { fileIdentity } from "../../../system/read-files.ts";

export class FilePlace {
  /** Its whole path, because the process may change its folder. Null for a database in memory. */
  readonly #file: string | null;
  /** The device and the inode of the open file. Null if it was gone at once. */
  readonly #opened: string | null;

  /** Call it as soon as the database is open: it takes the file at the path for the open one. */
  constructor({ name, memory }: Pick<Database.Database, "name" | "memory">) {
    this.#file = memory ? null : resolve(name);
    this.#opened = this.#file === null ? null : identityAt(this.#file);
  }

  /** Throws `records_moved` if the open file is not at its path. It costs one question to the file system. */
  check(): void {
    if (this.#file === null) return;
    const found = identityAt(this.#file);
    if (found === null || found !== this.#opened) throw moved(this.#file, { isReplaced: found !== null });
  }
}

/** Returns null if no file is there. */
function identityAt(file: string): string | null {
  try {
    return nullIfAbsent(() => fileIdentity(file));
  } catch (error) {
    throw storageFault(`it is not known whether ${file} is still the open file`, error);
  }
}

function moved(file: string, { isReplaced }: { isReplaced: boolean }): AptoveError {
  const what = isReplaced
    ? `${file} is another file than the one that is open: the folder ${dirname(file)}, or the file, was replaced`
    : `${file} is gone: the folder ${dirname(file)}, or the file, was moved or deleted while it was in use`;
  return new AptoveError("records_moved", `${what}, so nothing more is stored`);
}
