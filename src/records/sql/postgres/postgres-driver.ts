/**
 * The query builder's driver on `pg`, for servers that restart, fail over or become unreachable. Everything that changes data
 * runs in a transaction, and a transaction either happened or did not. If the connection breaks during COMMIT, the outcome
 * is looked up (settled-commits.ts) before the caller gets a result. So a caller that gets an error may retry, unless the
 * error states that the outcome is unknown.
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
import type { SendingConnection } from "../plain/plain-sql.ts";
import { isConnectionLost } from "../postgres-faults.ts";
import { endUnnumbered, serverSessionOf, wasCommitted, type ServerSession } from "./settled-commits.ts";

export interface PostgresConnections {
  pool: Pool;
  /** Settings of each session. The keys are PostgreSQL's names. */
  settings: Readonly<Record<string, string>>;
  /** How long to ask for the outcome of a transaction, in milliseconds. */
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
  /** The connections that are set up, each with what names it on the server. */
  readonly #ready = new WeakMap<PoolClient, ServerSession>();

  constructor(connections: PostgresConnections) {
    this.#connections = connections;
    // A connection that breaks while idle must not end the process. The next query on it fails and reports the loss.
    connections.pool.on("connect", (client) => client.on("error", () => undefined));
    connections.pool.on("error", () => undefined);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const client = await this.#connections.pool.connect();
    try {
      const session = this.#ready.get(client) ?? (await this.#setUp(client));
      return new PostgresServerConnection(client, session, this.#connections);
    } catch (error) {
      client.release(true);
      throw error;
    }
  }

  async #setUp(client: PoolClient): Promise<ServerSession> {
    const settings = Object.entries(this.#connections.settings);
    const calls = settings.map((_, at) => `set_config($${2 * at + 1}, $${2 * at + 2}, false)`);
    // All of it is sent at once, so a new connection costs one more round trip.
    const [, session] = await Promise.all([
      client.query(`select ${calls.join(", ")}`, settings.flat()),
      serverSessionOf(client),
    ]);
    this.#ready.set(client, session);
    return session;
  }

  async beginTransaction(connection: PostgresServerConnection): Promise<void> {
    connection.begin();
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

/** The kinds of statements that change data. */
const writing = ["InsertQueryNode", "UpdateQueryNode", "DeleteQueryNode"];

/**
 * A connection that sends each statement at once, also while it waits for the answers to earlier ones. The server runs them in
 * their order, so what needs no earlier answer costs no round trip of its own.
 */
class PostgresServerConnection implements SendingConnection {
  readonly #client: PoolClient;
  readonly #session: ServerSession;
  readonly #connections: PostgresConnections;
  /** The number of the running transaction. It has begun when the server says so. */
  #transaction: Promise<string> | null = null;
  /** The statements of the transaction whose results the commit checks. */
  #unanswered: Promise<unknown>[] = [];
  #isLost = false;
  #isReleased = false;

  constructor(client: PoolClient, session: ServerSession, connections: PostgresConnections) {
    this.#client = client;
    this.#session = session;
    this.#connections = connections;
  }

  /** Runs a single statement that changes data as a transaction too. Otherwise its outcome could not be looked up. */
  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#transaction !== null || !writing.includes(query.kind)) return await this.#run<Row>(sql, parameters);
    this.begin();
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

  send<Row>({ sql, parameters }: CompiledQuery<Row>): Promise<QueryResult<Row>> {
    const answered = this.#run<Row>(sql, parameters);
    // The commit reports it.
    answered.catch(() => undefined);
    this.#unanswered.push(answered);
    return answered;
  }

  /** Begins a transaction and asks for its number. The statements that follow do not wait for that. */
  begin(): void {
    this.#transaction = this.#begun();
    // The next statement fails with the same reason.
    this.#transaction.catch(() => undefined);
  }

  async #begun(): Promise<string> {
    const text = "begin read write; select pg_current_xact_id()::text as id";
    const results = await this.#guarded(() => this.#client.query<{ id: string }>(text));
    // Two statements have two results, but the types declare only one.
    return ([results].flat() as { rows: { id: string }[] }[]).at(-1)?.rows[0]?.id ?? "";
  }

  /** Sends the commit behind what was sent before, and waits for all answers. */
  async commit(): Promise<void> {
    const number = this.#transaction;
    const committed = this.#guarded(() => this.#client.query("commit"));
    const results = await Promise.allSettled([number, ...this.#unanswered, committed]);
    this.#unanswered = [];
    this.#transaction = null;
    const failed = results.find((result) => result.status === "rejected");
    if (failed === undefined) {
      if ((await committed).command === "ROLLBACK") throw new AbortedTransactionError();
      return;
    }
    if (!this.#isLost) {
      // The transaction is still open if the commit itself was cancelled. Otherwise this changes nothing.
      if (results.at(-1)?.status === "rejected") await this.#guarded(() => this.#client.query("rollback"));
      throw failed.reason;
    }
    if (!isConnectionLost(failed.reason) || !(await this.#wasCommitted(results[0]))) throw failed.reason;
  }

  async #wasCommitted(number: PromiseSettledResult<string | null>): Promise<boolean> {
    const { pool, settleMs } = this.#connections;
    // The pool has no room for the connection that asks while this one has its place.
    this.release();
    const id = number.status === "fulfilled" ? (number.value ?? "") : "";
    if (id === "") return await endUnnumbered(pool, this.#session, settleMs);
    return await wasCommitted(pool, { id, session: this.#session }, settleMs);
  }

  /** Rolls the transaction back. If the connection is lost, the server does that by itself. */
  async rollback(): Promise<void> {
    const isOpen = this.#transaction !== null;
    await Promise.allSettled([this.#transaction, ...this.#unanswered]);
    this.#transaction = null;
    this.#unanswered = [];
    if (isOpen && !this.#isLost) await this.#guarded(() => this.#client.query("rollback"));
  }

  /** Gives the connection back, once. A lost one leaves the pool. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
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
