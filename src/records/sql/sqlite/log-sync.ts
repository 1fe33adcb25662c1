/**
 * Makes the write-ahead log of an SQLite file durable on another thread. SQLite itself would sync the log inside of its commit, and the
 * whole process would wait with it. One sync serves all that asked before it began, because a sync of the log is a sync of everything in it.
 *
 * SQLite never locks the log, so another descriptor of it drops no lock, which one of the database file would.
 */
import fs from "node:fs";

export class LogSync {
  readonly #file: string;
  #descriptor: number | null = null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #fault: Error | null = null;

  /** `database` is the path of the database. */
  constructor(database: string) {
    this.#file = `${database}-wal`;
  }

  /**
   * Why a sync failed, null if none has. The system may have dropped what it could not write, and a later sync would not say so:
   * nothing that is written from then on can be trusted.
   */
  get fault(): Error | null {
    return this.#fault;
  }

  /** Resolves when everything that the log has now is durable. */
  async sync(): Promise<void> {
    if (this.#next === null && this.#running === null) return await this.#begin();
    // The sync that runs may have begun before what was written last.
    this.#next ??= Promise.resolve(this.#running).then(
      () => this.#begin(),
      () => this.#begin(),
    );
    await this.#next;
  }

  async #begin(): Promise<void> {
    this.#next = null;
    this.#running = this.#syncNow();
    await this.#running;
  }

  async #syncNow(): Promise<void> {
    try {
      if (this.#fault !== null) throw this.#fault;
      // The log is there as long as a connection is open, and only the last one that closes removes it.
      this.#descriptor ??= fs.openSync(this.#file, "r+");
      await synced(this.#descriptor);
    } catch (error) {
      this.#fault = error as Error;
      throw error;
    } finally {
      this.#running = null;
    }
  }

  /** Waits for what runs. Call it before the last connection closes. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#next, this.#running]);
    if (this.#descriptor !== null) fs.closeSync(this.#descriptor);
    this.#descriptor = null;
  }
}

/** Rejects with the error of the system. Node's promisify would make a new function for each sync. */
function synced(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => fs.fdatasync(descriptor, (error) => (error ? reject(error) : resolve())));
}
