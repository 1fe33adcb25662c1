/** The prepared statements of one handle on an SQLite file, each prepared once. */
import { setTimeout as delay } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { QueryResult } from "kysely";
import { isSqliteBusy } from "../../../system/sqlite-begin.ts";
import { namedIfFull } from "../../../system/sqlite-room.ts";

/** How long a writer waits for the transactions of other processes, in milliseconds. Ours take a few. */
const lockWaitMs = 10_000;
/** The longest pause between two attempts to get the lock, in milliseconds. */
const lockPauseMaxMs = 10;
/** The maximum number of prepared statements: several times as many as the program has. */
const statementsMax = 500;

/** Gives back pages that are free. It gives back one with each step, and `run` takes a single step. */
const giveBackPages = "pragma incremental_vacuum";

export class SqliteStatements {
  readonly database: Database.Database;
  /**
   * The prepared statements by their text. All values are parameters, but a list has one placeholder per value, and the text of
   * a search may differ each time; so the oldest statements are dropped.
   */
  readonly #statements = new Map<string, Database.Statement>();

  constructor(database: Database.Database) {
    this.database = database;
  }

  /** Runs the statement, and waits while another process writes. Inside a transaction there is nothing to wait for. */
  async run(text: string, parameters: readonly unknown[]): Promise<QueryResult<unknown>> {
    const deadline = performance.now() + lockWaitMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, lockPauseMaxMs)) {
      try {
        return this.#runNow(text, parameters);
      } catch (error) {
        if (!isSqliteBusy(error) || performance.now() > deadline) throw namedIfFull(error, this.database.name);
      }
      await delay(Math.random() * pause);
    }
  }

  /** Returns true if the statement is a query that changes nothing. */
  isQuery(text: string): boolean {
    return /^\s*(?:select|with)\b/i.test(text) && this.#prepared(text).readonly;
  }

  /** Returns true if the statement changes rows, and nothing of the handle. */
  isWrite(text: string): boolean {
    return /^\s*(?:insert|update|delete|with)\b/i.test(text);
  }

  #runNow(text: string, parameters: readonly unknown[]): QueryResult<unknown> {
    const statement = this.#prepared(text);
    if (statement.reader) return { rows: statement.all(...parameters) };
    if (text === giveBackPages) {
      this.database.exec(text);
      return { rows: [] };
    }
    return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) };
  }

  /** The first statement of a handle opens the log, and the memory that it shares with other processes. */
  #prepare(text: string): Database.Statement {
    try {
      return this.database.prepare(text);
    } catch (error) {
      throw namedIfFull(error, this.database.name);
    }
  }

  #prepared(text: string): Database.Statement {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#prepare(text);
      this.#statements.set(text, statement);
      const [oldest] = this.#statements.keys();
      if (this.#statements.size > statementsMax && oldest !== undefined) this.#statements.delete(oldest);
    }
    return statement;
  }
}
