/**
 * The outcome of a transaction whose COMMIT got no response. The server remembers the outcome of every transaction by its
 * number, even after a restart, so another connection can ask for it: no process has to guess whether a turn was opened,
 * finished or claimed. A number may have two owners in two cases, and then a commit may be that of the other one.
 * - A standby that was promoted may have lost the last transactions. Its timeline differs.
 * - A server that crashed lost the transactions that it had not written to its log yet, with their numbers, and gives those to
 *   the next ones. It begins its statistics anew, which no clean restart does (PostgreSQL, `pgstat_discard_stats`).
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { systemCode } from "../../../system/system-error.ts";
import { OutcomeUnknown } from "../faults.ts";

export interface PostgresTransaction {
  id: string;
  /** The id of the server process that runs it. */
  processId: number;
  history: ServerHistory;
}

/** The time in which a server gives each number to one transaction. */
export interface ServerHistory {
  /** A promoted standby begins a new one. Empty on a standby. */
  timeline: string;
  /** The time of the last crash, or at which an operator reset the statistics. Empty if the server does not say it. */
  statisticsSince: string;
}

const pauseMs = 50;

/** Returns true if it was committed, and false if nothing of it was done and nothing will be. Throws `OutcomeUnknown` if the outcome is not known in time. */
export async function wasCommitted(pool: Pool, transaction: PostgresTransaction, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  let cause: unknown;
  while (performance.now() < deadline) {
    try {
      const outcome = await askOutcome(pool, transaction);
      if (outcome === "unknown") break;
      if (outcome !== "in progress") return outcome === "committed";
    } catch (error) {
      // The server is not reachable yet.
      cause = error;
    }
    await delay(pauseMs);
  }
  throw new OutcomeUnknown(
    `the connection broke during a commit, and it could not be learned whether transaction ${transaction.id} was committed`,
    { cause },
  );
}

type TransactionOutcome = "committed" | "aborted" | "in progress" | "unknown";

async function askOutcome(pool: Pool, { id, processId, history }: PostgresTransaction): Promise<TransactionOutcome> {
  const client = await pool.connect();
  let isUsable = false;
  try {
    const now = await serverHistoryOf(client);
    if (now.timeline !== history.timeline) return "unknown";
    const hasCrashed = now.statisticsSince === "" || now.statisticsSince !== history.statisticsSince;
    const outcome = hasCrashed ? await outcomeAfterCrash(client, id) : await statusOf(client, id);
    // The server's process has not noticed that its client is gone. It must not keep its locks, nor commit later.
    if (outcome === "in progress") await client.query(ending, [processId, id]);
    isUsable = true;
    return outcome;
  } finally {
    client.release(!isUsable);
  }
}

/** A transaction that had committed before the crash keeps its number. So only a commit may be that of another transaction. */
async function outcomeAfterCrash(client: PoolClient, id: string): Promise<TransactionOutcome> {
  try {
    const outcome = await statusOf(client, id);
    return outcome === "committed" || outcome === "unknown" ? "unknown" : "aborted";
  } catch (error) {
    if (systemCode(error) === isInFuture) return "aborted";
    throw error;
  }
}

/** `invalid_parameter_value`: the server has not given this number to any transaction. */
const isInFuture = "22023";

async function statusOf(client: PoolClient, id: string): Promise<TransactionOutcome> {
  const { rows } = await client.query<{ status: TransactionOutcome | null }>(
    "select pg_xact_status($1::xid8) as status",
    [id],
  );
  return rows[0]?.status ?? "unknown";
}

const ending = "select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and backend_xid = $2::xid8::xid";

const askHistory = `
  select
    case when pg_is_in_recovery() then null else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline,
    stats_reset::text as since
  from pg_stat_bgwriter`;

export async function serverHistoryOf(client: PoolClient): Promise<ServerHistory> {
  const { rows } = await client.query<{ timeline: string | null; since: string | null }>(askHistory);
  return { timeline: rows[0]?.timeline ?? "", statisticsSince: rows[0]?.since ?? "" };
}
