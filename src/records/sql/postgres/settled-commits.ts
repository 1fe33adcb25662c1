/**
 * The outcome of a transaction whose COMMIT got no response. The server remembers the outcome of every transaction by its
 * number, even after a restart, so another connection can ask for it: no process has to guess whether a turn was opened,
 * finished or claimed. If the connection broke before the number came, the session of the server is ended, so that nothing more of
 * the transaction happens, and the caller looks for what it wrote.
 *
 * A number may have two owners in two cases, and then a commit may be that of the other one.
 * - A standby that was promoted may have lost the last transactions. Its timeline differs.
 * - A server that crashed lost the transactions that it had not written to its log yet, with their numbers, and gives those to
 *   the next ones. It begins its statistics anew, which no clean restart does (PostgreSQL, `pgstat_discard_stats`).
 */
import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Pool, PoolClient } from "pg";
import { systemCode } from "../../../system/system-error.ts";
import { OutcomeUnknown } from "../faults.ts";

/** The session on the server that serves one connection. */
export interface ServerSession {
  /** It holds an advisory lock on these two numbers. They name it, because a process id is given again, and a pooler gives one process to many clients. */
  lock: readonly [number, number];
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
export async function wasCommitted(
  pool: Pool,
  { id, session }: { id: string; session: ServerSession },
  withinMs: number,
): Promise<boolean> {
  const outcome = await settled(pool, withinMs, (client) => askOutcome(client, id, session));
  if (outcome.is === "committed" || outcome.is === "aborted") return outcome.is === "committed";
  throw new OutcomeUnknown(
    `the connection broke during a commit, and it could not be learned whether transaction ${id} was committed`,
    { cause: outcome.cause },
  );
}

/** Ends the session whose transaction got no number, and throws `OutcomeUnknown`. Once it is ended, what was sent has happened, or never will. */
export async function endUnnumbered(pool: Pool, session: ServerSession, withinMs: number): Promise<never> {
  const { cause } = await settled(pool, withinMs, async (client) => {
    const { rowCount } = await client.query(endingSession, [...session.lock]);
    return rowCount === 0 ? "unknown" : "in progress";
  });
  throw new OutcomeUnknown("the connection broke between the begin of a transaction and the answer to its commit", {
    cause,
  });
}

/** Asks until the outcome is known, or the time is over. `cause` says why the server could not be asked. */
async function settled(
  pool: Pool,
  withinMs: number,
  ask: (client: PoolClient) => Promise<TransactionOutcome>,
): Promise<{ is: TransactionOutcome; cause: unknown }> {
  const deadline = performance.now() + withinMs;
  let cause: unknown;
  while (performance.now() < deadline) {
    try {
      const is = await withClient(pool, ask);
      if (is !== "in progress") return { is, cause };
    } catch (error) {
      // The server is not reachable yet.
      cause = error;
    }
    await delay(pauseMs);
  }
  return { is: "in progress", cause };
}

async function withClient<T>(pool: Pool, ask: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let isUsable = false;
  try {
    const answer = await ask(client);
    isUsable = true;
    return answer;
  } finally {
    client.release(!isUsable);
  }
}

type TransactionOutcome = "committed" | "aborted" | "in progress" | "unknown";

async function askOutcome(client: PoolClient, id: string, { history }: ServerSession): Promise<TransactionOutcome> {
  const now = await serverHistoryOf(client);
  if (now.timeline !== history.timeline) return "unknown";
  const outcome = isSameHistory(now, history) ? await statusOf(client, id) : await outcomeAfterCrash(client, id);
  // The server's process has not noticed that its client is gone. It must not keep its locks, nor commit later.
  if (outcome === "in progress") await client.query(ending, [id]);
  return outcome;
}

function isSameHistory(now: ServerHistory, before: ServerHistory): boolean {
  const isSameStart = now.statisticsSince !== "" && now.statisticsSince === before.statisticsSince;
  return isSameStart && now.timeline === before.timeline;
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

const ending = "select pg_terminate_backend(pid) from pg_stat_activity where backend_xid = $1::xid8::xid";
/** A session gives its locks back after its transaction has ended. */
const endingSession = `
  select pg_terminate_backend(pid) from pg_locks
  where locktype = 'advisory' and classid = $1::bigint::oid and objid = $2::bigint::oid and objsubid = 2
    and database = (select oid from pg_database where datname = current_database())`;

const askHistory = `
  select
    case when pg_is_in_recovery() then null else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline,
    stats_reset::text as since
  from pg_stat_bgwriter`;

async function serverHistoryOf(client: PoolClient): Promise<ServerHistory> {
  const { rows } = await client.query<{ timeline: string | null; since: string | null }>(askHistory);
  return { timeline: rows[0]?.timeline ?? "", statisticsSince: rows[0]?.since ?? "" };
}

export async function serverSessionOf(client: PoolClient): Promise<ServerSession> {
  const lock = [randomInt(lockNumbers), randomInt(lockNumbers)] as const;
  const [history] = await Promise.all([
    serverHistoryOf(client),
    client.query("select pg_advisory_lock($1, $2)", [...lock]),
  ]);
  return { lock, history };
}

/** The numbers of an advisory lock are integers of 32 bits. */
const lockNumbers = 2 ** 31;
