/**
 * The transactions of one SQLite handle. Those that run in the same round of the event loop share one commit. Each has its own
 * result: it is a savepoint of the shared one, so a transaction that fails takes no other with it. If the commit fails, all fail.
 *
 * A commit only writes the log. The process goes on while another thread syncs it (`log-sync.ts`), and then the transactions are
 * acknowledged. Those that are written meanwhile share the next sync.
 */
import type { FilePlace } from "./file-place.ts";
import { LogSync } from "./log-sync.ts";
import type { SqliteStatements } from "./sqlite-statements.ts";

interface Ending {
  /** True: it is acknowledged only when it survives the loss of power. */
  isDurable: boolean;
  ended: PromiseWithResolvers<void>;
}

/** Transactions that end with the same commit. */
interface Group {
  /** Those that wait for the commit. */
  waiting: Ending[];
  /** True once the round of the event loop is over. Then nothing joins. */
  isDue: boolean;
}

export class SharedCommits {
  readonly #statements: SqliteStatements;
  readonly #log: LogSync;
  readonly #place: FilePlace;
  readonly #queue: (() => void)[] = [];
  #isTaken = false;
  #group: Group | null = null;

  constructor(statements: SqliteStatements, place: FilePlace) {
    this.#statements = statements;
    this.#place = place;
    this.#log = new LogSync(statements.database.name);
  }

  /** True if the handle shows what is not committed yet. */
  get isOpen(): boolean {
    return this.#statements.database.inTransaction;
  }

  /** Takes the handle for one caller, outside of any transaction. `leave` gives it back. */
  async takeAlone(): Promise<void> {
    await this.#take();
    await this.#commitGroup();
  }

  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#isTaken = false;
    else next();
  }

  /**
   * Throws what a sync failed with before: the disk keeps nothing any more. Reads are refused too, because the file shows the
   * transactions of that sync as if they had succeeded, and an answer that is read from it would acknowledge them.
   */
  check(): void {
    if (this.#log.fault !== null) throw this.#log.fault;
  }

  /**
   * Begins a transaction. `commit` or `rollback` ends it. Throws what a sync failed with before, and `records_moved` if the file is not
   * at its path any more: every transaction that would have shared this commit finds that too.
   */
  async begin(): Promise<void> {
    await this.#take();
    try {
      this.check();
      if (this.#group === null) {
        this.#place.check();
        await this.#run("begin immediate");
        this.#group = { waiting: [], isDue: false };
        setImmediate(this.#endRound, this.#group);
      } else {
        await this.#run("savepoint member");
      }
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  /**
   * Ends the transaction. Resolves when it is durable, or if it need not be, when it is committed. If it rejects, the transaction
   * is rolled back, unless the sync failed: then it may vanish with the power, and there are no later ones.
   */
  async commit({ isDurable }: { isDurable: boolean }): Promise<void> {
    const ended = await this.#joinCommit(isDurable);
    this.#leaveGroup();
    await ended.promise;
  }

  /** Resolves when everything that was committed is durable. */
  async sync(): Promise<void> {
    await this.#log.sync();
  }

  async #joinCommit(isDurable: boolean): Promise<PromiseWithResolvers<void>> {
    try {
      const group = this.#group;
      if (group === null || !this.isOpen) throw endedBySqlite();
      // The first one has no savepoint: there was nothing before it that its failure could take with it.
      if (group.waiting.length > 0) await this.#run("release member");
      const ended = Promise.withResolvers<void>();
      group.waiting.push({ isDurable, ended });
      return ended;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  /**
   * Undoes the transaction. It may have failed because of what others wrote that wait for the commit, so it resolves after
   * that commit: then its caller can read why.
   */
  async rollback(): Promise<void> {
    let settled: PromiseWithResolvers<void> | null = null;
    try {
      settled = await this.#undo();
    } finally {
      this.#leaveGroup();
    }
    if (settled !== null) await Promise.allSettled([settled.promise]);
  }

  /** Returns what is settled with the commit of the others. Null: there are no others. */
  async #undo(): Promise<PromiseWithResolvers<void> | null> {
    const group = this.#group;
    if (group === null) return null;
    if (!this.isOpen) {
      // A full device ends the whole transaction by itself, so the others fail too.
      this.#fail(group, endedBySqlite());
      return null;
    }
    if (group.waiting.length === 0) {
      this.#group = null;
      await this.#run("rollback");
      return null;
    }
    await this.#run("rollback to member");
    await this.#run("release member");
    const settled = Promise.withResolvers<void>();
    group.waiting.push({ isDurable: false, ended: settled });
    return settled;
  }

  #leaveGroup(): void {
    if (this.#group?.isDue === true) void this.#commitGroup().finally(() => this.leave());
    else this.leave();
  }

  /** Commits what waits for a commit, unless a transaction is running. */
  async close(): Promise<void> {
    if (!this.#isTaken) await this.#commitGroup();
    await this.#log.close();
  }

  readonly #endRound = (group: Group): void => {
    group.isDue = true;
    // A transaction that is running commits the group when it ends.
    if (this.#group !== group || this.#isTaken) return;
    this.#isTaken = true;
    void this.#commitGroup().finally(() => this.leave());
  };

  async #take(): Promise<void> {
    if (this.#isTaken) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#isTaken = true;
  }

  /** Never rejects: those that wait have the error. */
  async #commitGroup(): Promise<void> {
    const group = this.#group;
    if (group === null) return;
    try {
      await this.#run("commit");
      this.#group = null;
      this.#acknowledge(group);
    } catch (error) {
      this.#fail(group, error);
      if (this.isOpen) await this.#run("rollback");
    }
  }

  /** The handle is free for others while those that must be durable wait for the sync. */
  #acknowledge({ waiting }: Group): void {
    for (const { isDurable, ended } of waiting) if (!isDurable) ended.resolve();
    const durable = waiting.flatMap(({ isDurable, ended }) => (isDurable ? [ended] : []));
    if (durable.length === 0) return;
    this.#log.sync().then(
      () => durable.forEach(({ resolve }) => resolve()),
      (error: unknown) => durable.forEach(({ reject }) => reject(error)),
    );
  }

  #fail(group: Group, error: unknown): void {
    this.#group = null;
    for (const { ended } of group.waiting) ended.reject(error);
  }

  async #run(text: string): Promise<void> {
    await this.#statements.run(text, []);
  }
}

/** A full device, for example, ends a transaction. */
function endedBySqlite(): Error {
  return new Error("SQLite has rolled the transaction back");
}
