/**
 * The outcome of a transaction whose COMMIT got no response. The server remembers the outcome of every transaction by its
 * number, even after a crash, so another connection can ask for it: no process has to guess whether a turn was opened,
 * finished or claimed. A standby that was promoted may have lost the last transactions and reused their numbers. Its timeline
 * differs, and then the outcome stays unknown.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { AptoveError } from "../../../domain/errors.ts";

export interface PostgresTransaction {
  id: string;
  /** The id of the server process that runs it. */
  processId: number;
  /** The id of the server's history. A promoted standby begins a new one. */
  timeline: string;
}

const pauseMs = 50;

/** Returns true if it was committed, and false if nothing of it was done and nothing will be. Throws `storage_failed` if the outcome is not known in time. */
export async function wasCommitted(pool: Pool, transaction: PostgresTransaction, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  let cause: unknown;
  while (performance.now() < deadline) {
    try {
      const fate = await askOutcome(pool, transaction);
      if (fate === "unknown") break;
      if (fate !== "in progress") return fate === "committed";
    } catch (error) {
      // The server is not reachable yet.
      cause = error;
    }
    await delay(pauseMs);
  }
  throw new AptoveError(
    "storage_failed",
    `the connection broke during a commit, and it could not be learned whether transaction ${transaction.id} was committed`,
    { cause },
  );
}

type TransactionOutcome = "committed" | "aborted" | "in progress" | "unknown";

async function askOutcome(pool: Pool, { id, processId, timeline }: PostgresTransaction): Promise<TransactionOutcome> {
  const client = await pool.connect();
  let isUsable = false;
  try {
    if ((await timelineOf(client)) !== timeline) return "unknown";
    const { rows } = await client.query<{ fate: TransactionOutcome | null }>(
      "select pg_xact_status($1::xid8) as fate",
      [id],
    );
    const fate = rows[0]?.fate ?? "unknown";
    // The server's process has not noticed that its client is gone. It must not keep its locks, nor commit later.
    if (fate === "in progress") await client.query(ending, [processId, id]);
    isUsable = true;
    return fate;
  } finally {
    client.release(!isUsable);
  }
}

const ending = "select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and backend_xid = $2::xid8::xid";

/** Returns the timeline of the server. Empty on a standby. */
export async function timelineOf(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ timeline: string | null }>(
    "select case when pg_is_in_recovery() then null else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline",
  );
  return rows[0]?.timeline ?? "";
}
