/**
 * The query builder's driver on better-sqlite3, for a file that several processes use at once (B4). The builder's own driver
 * begins transactions that fail when another process writes in between, and blocks the whole process while it waits for a
 * lock. This driver takes the write lock first, and waits for it without blocking. Transactions share commits
 * (`shared-commits.ts`), and queries outside of a transaction see only what is committed.
 */
import Database from "better-sqlite3";
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
import { FilePlace } from "./file-place.ts";
import { SharedCommits } from "./shared-commits.ts";
import { SqliteStatements } from "./sqlite-statements.ts";

export function openSqliteFile(database: Database.Database): SqliteFile {
  return new SqliteFile(database);
}

/** `isDurable: false` is for transactions that survive the end of the process, and perhaps not the loss of power. */
export function sqliteDialect(file: SqliteFile, { isDurable = true } = {}): Dialect {
  return {
    createAdapter: () => new SharingAdapter(),
    createDriver: () => new SqliteFileDriver(file, isDurable),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** Lets several callers have a connection at once: `SharedCommits` puts them in order. */
class SharingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

class SqliteFileDriver implements Driver {
  readonly #file: SqliteFile;
  readonly #isDurable: boolean;

  constructor(file: SqliteFile, isDurable: boolean) {
    this.#file = file;
    this.#isDurable = isDurable;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<SqliteConnection> {
    return new SqliteConnection(this.#file, this.#isDurable);
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    await connection.rollback();
  }

  async releaseConnection(connection: SqliteConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    await this.#file.close();
  }
}

/** The handles of this process on the file. */
export class SqliteFile {
  readonly main: SqliteStatements;
  readonly commits: SharedCommits;
  readonly place: FilePlace;
  #reader: SqliteStatements | null = null;

  constructor(database: Database.Database) {
    this.main = new SqliteStatements(database);
    this.place = new FilePlace(database);
    this.commits = new SharedCommits(this.main, this.place);
  }

  /** A handle that shows only what is committed. The second one is opened when it is first needed. */
  get committed(): SqliteStatements {
    if (!this.commits.isOpen) return this.main;
    this.#reader ??= new SqliteStatements(openReader(this.main.database.name));
    return this.#reader;
  }

  async close(): Promise<void> {
    await this.commits.close();
    this.#reader?.database.close();
    this.main.database.close();
  }
}

function openReader(file: string): Database.Database {
  const reader = new Database(file, { readonly: true, fileMustExist: true });
  reader.pragma("busy_timeout = 0");
  return reader;
}

/** What one caller has: nothing yet, the handle alone, or a transaction that shares its commit or does not. */
type Holding = "nothing" | "the handle" | "a transaction alone" | "a transaction";

class SqliteConnection implements DatabaseConnection {
  readonly #file: SqliteFile;
  readonly #isDurable: boolean;
  #holding: Holding = "nothing";

  constructor(file: SqliteFile, isDurable: boolean) {
    this.#file = file;
    this.#isDurable = isDurable;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return (await this.#run(sql, parameters)) as QueryResult<Row>;
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query);
  }

  async #run(text: string, parameters: readonly unknown[]): Promise<QueryResult<unknown>> {
    const { main, commits } = this.#file;
    if (this.#holding !== "nothing") return await main.run(text, parameters);
    if (main.isQuery(text)) {
      commits.check();
      return await this.#file.committed.run(text, parameters);
    }
    if (main.isWrite(text)) return await this.#runAsTransaction(text, parameters);
    await commits.takeAlone();
    this.#holding = "the handle";
    return await main.run(text, parameters);
  }

  /** A statement outside of a transaction is one of its own, which shares a commit too. */
  async #runAsTransaction(text: string, parameters: readonly unknown[]): Promise<QueryResult<unknown>> {
    await this.begin();
    let result: QueryResult<unknown>;
    try {
      result = await this.#file.main.run(text, parameters);
    } catch (error) {
      await this.rollback();
      throw error;
    }
    await this.commit();
    return result;
  }

  /** A caller who has the handle alone has changed it, so its transaction shares nothing. */
  async begin(): Promise<void> {
    if (this.#holding === "the handle") {
      this.#file.place.check();
      await this.#file.main.run("begin immediate", []);
      this.#holding = "a transaction alone";
      return;
    }
    await this.#file.commits.begin();
    this.#holding = "a transaction";
  }

  async commit(): Promise<void> {
    const held = this.#holding;
    this.#holding = afterTransaction(held);
    if (held === "a transaction") return await this.#file.commits.commit({ isDurable: this.#isDurable });
    await this.#file.main.run("commit", []);
    if (this.#isDurable) await this.#file.commits.sync();
  }

  /** Called too when a commit failed: then a transaction that shares its commit is rolled back already. */
  async rollback(): Promise<void> {
    const { main, commits } = this.#file;
    const held = this.#holding;
    this.#holding = afterTransaction(held);
    if (held === "a transaction") await commits.rollback();
    // A full device ends a transaction by itself; a second rollback would hide that error behind another.
    else if (held !== "nothing" && main.database.inTransaction) await main.run("rollback", []);
  }

  release(): void {
    if (this.#holding === "the handle") this.#file.commits.leave();
    this.#holding = "nothing";
  }
}

function afterTransaction(held: Holding): Holding {
  return held === "a transaction alone" ? "the handle" : "nothing";
}
