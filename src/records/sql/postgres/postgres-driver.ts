/**
 * `pg` under the query builder, for servers that restart, fail over and vanish. Whatever changes something is a
 * transaction, and a transaction either happened or did not: where the connection breaks during its COMMIT, its fate is
 * looked up (settled-commits.ts) before anybody is told. So whoever gets an error may ask again, unless the error says
 * that nobody knows.
 */
import {
  AbortedTransactionError,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from "kysely";
import type { Pool, PoolClient } from "pg";
import { AptoveError } from "../../../domain/errors.ts";
import { isConnectionLost } from "../postgres-faults.ts";
import { timelineOf, wasCommitted, type Transaction } from "./settled-commits.ts";

export interface PostgresConnections {
  pool: Pool;
  /** Settings of each session, by their names in PostgreSQL. */
  settings: Readonly<Record<string, string>>;
  /** How long the fate of a transaction is asked for. */
  settleMs: number;
}

export function postgresDialect(connections: PostgresConnections): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new PostgresServerDriver(connections),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

class PostgresServerDriver implements Driver {
  readonly #connections: PostgresConnections;
  /** Timelines of the sessions that are set up. */
  readonly #ready = new WeakMap<PoolClient, string>();

  constructor(connections: PostgresConnections) {
    this.#connections = connections;
    // A connection that breaks while nobody waits for an answer must not end the process; whoever asks next learns of it.
    connections.pool.on("connect", (client) => client.on("error", () => undefined));
    connections.pool.on("error", () => undefined);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const client = await this.#connections.pool.connect();
    try {
      const timeline = this.#ready.get(client) ?? (await this.#setUp(client));
      return new PostgresServerConnection(client, timeline, this.#connections);
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  async #setUp(client: PoolClient): Promise<string> {
    const settings = Object.entries(this.#connections.settings);
    const calls = settings.map((_, at) => `set_config($${2 * at + 1}, $${2 * at + 2}, false)`);
    await client.query(`select ${calls.join(", ")}`, settings.flat());
    const timeline = await timelineOf(client);
    this.#ready.set(client, timeline);
    return timeline;
  }

  async beginTransaction(connection: PostgresServerConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: PostgresServerConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: PostgresServerConnection): Promise<void> {
    await connection.rollback();
  }

  async releaseConnection(connection: PostgresServerConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    await this.#connections.pool.end();
  }
}

/** Kinds of statements that change something. */
const writing = ["InsertQueryNode", "UpdateQueryNode", "DeleteQueryNode"];

class PostgresServerConnection implements DatabaseConnection {
  readonly #client: PoolClient;
  readonly #timeline: string;
  readonly #connections: PostgresConnections;
  #transaction: Transaction | null = null;
  #isLost = false;

  constructor(client: PoolClient, timeline: string, connections: PostgresConnections) {
    this.#client = client;
    this.#timeline = timeline;
    this.#connections = connections;
  }

  /** A single statement that changes something is a transaction too: else nobody could tell what became of it. */
  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#transaction !== null || !writing.includes(query.kind)) return await this.#run<Row>(sql, parameters);
    await this.begin();
    try {
      const result = await this.#run<Row>(sql, parameters);
      await this.commit();
      return result;
    } catch (error) {
      await this.rollback();
      throw error;
    }
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query);
  }

  /** One round trip: the number is there before anything else is asked. */
  async begin(): Promise<void> {
    const text = "begin; select pg_current_xact_id()::text as id";
    const results = await this.#guarded(() => this.#client.query<{ id: string }>(text));
    // Of two statements there are two results, which the types do not know.
    const id = ([results].flat() as { rows: { id: string }[] }[]).at(-1)?.rows[0]?.id ?? "";
    const { processID: processId = 0 } = this.#client as PoolClient & { processID?: number };
    this.#transaction = { id, processId, timeline: this.#timeline };
  }

  async commit(): Promise<void> {
    const transaction = this.#transaction;
    try {
      const { command } = await this.#guarded(() => this.#client.query("commit"));
      if (command === "ROLLBACK") throw new AbortedTransactionError();
    } catch (error) {
      if (transaction === null || !isConnectionLost(error)) throw error;
      const { pool, settleMs } = this.#connections;
      if (!(await wasCommitted(pool, transaction, settleMs))) throw error;
    } finally {
      this.#transaction = null;
    }
  }

  /** Of a lost connection the server undoes everything by itself. */
  async rollback(): Promise<void> {
    const isOpen = this.#transaction !== null;
    this.#transaction = null;
    if (isOpen && !this.#isLost) await this.#guarded(() => this.#client.query("rollback"));
  }

  release(): void {
    this.#client.release(this.#isLost);
  }

  async #run<Row>(text: string, parameters: readonly unknown[]): Promise<QueryResult<Row>> {
    const { command, rowCount, rows } = await this.#guarded(() => this.#client.query(text, [...parameters]));
    const isWrite = ["INSERT", "UPDATE", "DELETE"].includes(command);
    return { rows: rows as Row[], ...(isWrite && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  async #guarded<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#isLost) throw new AptoveError("storage_failed", "the connection to the database is lost");
    try {
      return await ask();
    } catch (error) {
      this.#isLost ||= isConnectionLost(error);
      throw error;
    }
  }
}
