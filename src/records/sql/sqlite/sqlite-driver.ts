/**
 * The query builder's driver on better-sqlite3, for a file that several processes use at once (B4). The builder's own driver
 * begins transactions that fail when another process writes in between, and blocks the whole process while it waits for a
 * lock. This driver takes the write lock first, and waits for it without blocking.
 */
import { setTimeout as delay } from "node:timers/promises";
import type Database from "better-sqlite3";
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from "kysely";
import { isSqliteBusy } from "../../../system/sqlite-begin.ts";

/** How long a writer waits for the transactions of other processes, in milliseconds. Ours take a few. */
const lockWaitMs = 10_000;
/** The longest pause between two attempts to get the lock, in milliseconds. */
const lockPauseMaxMs = 10;

export function sqliteDialect(database: Database.Database): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteFileDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** The driver. The builder gives the connection to one caller at a time, and a transaction keeps it until its end. */
class SqliteFileDriver implements Driver {
  readonly #database: Database.Database;
  readonly #connection: SqliteFileConnection;

  constructor(database: Database.Database) {
    this.#database = database;
    this.#connection = new SqliteFileConnection(database);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    await this.#connection.run("begin immediate", []);
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.run("commit", []);
  }

  /** Rolls back an open transaction. A full device ends a transaction by itself; a second rollback would hide that error behind another. */
  async rollbackTransaction(): Promise<void> {
    if (this.#database.inTransaction) await this.#connection.run("rollback", []);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#database.close();
  }
}

/** The maximum number of prepared statements: several times as many as the program has. */
const statementsMax = 500;

class SqliteFileConnection implements DatabaseConnection {
  readonly #database: Database.Database;
  /**
   * The prepared statements by their text. All values are parameters, but a list has one placeholder per value, and the text of
   * a search may differ each time; so the oldest statements are dropped.
   */
  readonly #statements = new Map<string, Database.Statement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return (await this.run(sql, parameters)) as QueryResult<Row>;
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query);
  }

  /** Runs the statement, and waits while another process writes. Inside a transaction there is nothing to wait for. */
  async run(text: string, parameters: readonly unknown[]): Promise<QueryResult<unknown>> {
    const deadline = performance.now() + lockWaitMs;
    for (let pause = 1; ; pause = Math.min(pause * 2, lockPauseMaxMs)) {
      try {
        return this.#runNow(text, parameters);
      } catch (error) {
        if (!isSqliteBusy(error) || performance.now() > deadline) throw error;
      }
      await delay(Math.random() * pause);
    }
  }

  #runNow(text: string, parameters: readonly unknown[]): QueryResult<unknown> {
    const statement = this.#prepared(text);
    if (statement.reader) return { rows: statement.all(...parameters) };
    return { rows: [], numAffectedRows: BigInt(statement.run(...parameters).changes) };
  }

  #prepared(text: string): Database.Statement {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#database.prepare(text);
      this.#statements.set(text, statement);
      const [oldest] = this.#statements.keys();
      if (this.#statements.size > statementsMax && oldest !== undefined) this.#statements.delete(oldest);
    }
    return statement;
  }
}
