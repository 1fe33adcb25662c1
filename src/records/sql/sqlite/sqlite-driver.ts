/**
 * better-sqlite3 under the query builder, for a file that several processes use at once (B4). The builder's
 * own driver begins transactions that fail when another process writes in between, and waits for a lock by
 * holding up the whole process. This one takes the write lock first, and waits for it without blocking.
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

/** How long a writer waits for the transactions of others; ours take a few milliseconds. */
const lockWaitMs = 10_000;
/** Longest pause between two looks at the lock. */
const lockPauseMaxMs = 10;

export function sqliteDialect(database: Database.Database): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteFileDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** The builder lets one caller at a time have the connection, and a transaction keeps it to its end. */
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

  /** A full device ends a transaction by itself; to roll it back again would hide that error behind another. */
  async rollbackTransaction(): Promise<void> {
    if (this.#database.inTransaction) await this.#connection.run("rollback", []);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#database.close();
  }
}

/** Some times what the program has. */
const statementsMax = 500;

class SqliteFileConnection implements DatabaseConnection {
  readonly #database: Database.Database;
  /**
   * Each statement is prepared once. All values are parameters, but lists of them have as many places as values: of a search
   * the text may be another each time, so the oldest go.
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

  /** Waits while another process writes. Inside a transaction there is nothing to wait for. */
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
