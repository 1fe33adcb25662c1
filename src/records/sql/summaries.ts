/** Summaries of sessions in SQL (M5). */
import { sql, type Kysely, type RawBuilder, type Transaction } from "kysely";
import {
  isCompleted,
  summaryText,
  type CompletedSummary,
  type EndedSummary,
  type Summary,
} from "../../domain/summary.ts";
import type { BeginSummary, SummaryLease, SummaryRecords } from "../summaries.ts";
import { foldedText, storableText } from "../search-text.ts";
import { inBatches } from "./batches.ts";
import { isUniqueViolation } from "./faults.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { SummaryRow, Tables } from "./tables.ts";

export function summaryRecords(db: Kysely<Tables>, dialect: SqlDialect): SummaryRecords {
  return {
    begin: (summary, lease) => begin(db, dialect, { summary, lease }),
    update: (summary) => db.transaction().execute((tx) => update(tx, summary)),
    async get(id) {
      const row = await db.selectFrom("summaries").select("doc").where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : fromDoc(row);
    },
    async list(sessionId, { limit, status }) {
      let rows = db.selectFrom("summaries").select("doc").where("session_id", "=", sessionId);
      if (status !== undefined) rows = rows.where("status", "=", status);
      const newest = rows.orderBy("created_at", "desc").orderBy("id", "desc").limit(limit);
      return (await newest.execute()).map(fromDoc);
    },
    newestOf: (sessionIds) => inBatches([...new Set(sessionIds)], (batch) => newestOf(db, batch)),
    async begunIn({ orgId, from, until }) {
      const rows = db
        .selectFrom("summaries")
        .select("doc")
        .where("org_id", "=", orgId)
        .where("status", "<>", "pending");
      const inPeriod = rows.where("created_at", ">=", from).where("created_at", "<", until);
      const found = await inPeriod.orderBy("created_at").orderBy("id").execute();
      return found.map((row) => fromDoc(row) as EndedSummary);
    },
    async requestStop(id) {
      const stop = db.updateTable("summaries").set({ is_stopping: 1 }).where("id", "=", id);
      const { numUpdatedRows } = await stop.where("status", "=", "pending").executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    renew: (ids, { runnerId, leaseMs }) =>
      inBatches(ids, async (batch) => {
        const rows = await db
          .updateTable("summaries")
          .set({ lease_expires_at: leaseEnd(dialect, leaseMs) })
          .where("id", "in", batch)
          .where("status", "=", "pending")
          .where("runner_id", "=", runnerId)
          .returning(["id", "is_stopping"])
          .execute();
        return rows.map(({ id, is_stopping }) => ({ id, isStopping: is_stopping === 1 }));
      }),
    takeLost: (lease) => takeLost(db, dialect, lease),
  };
}

/** The session's row is locked against deletion, so a purge at the same moment either sees the summary or comes first. */
async function begin(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { summary, lease }: { summary: Summary; lease: SummaryLease },
): Promise<BeginSummary> {
  const running = async (): Promise<string | undefined> => {
    const rows = db.selectFrom("summaries").select("id").where("session_id", "=", summary.sessionId);
    return (await rows.where("status", "=", "pending").executeTakeFirst())?.id;
  };
  for (;;) {
    try {
      return await db.transaction().execute(async (tx): Promise<BeginSummary> => {
        for (const [table, id] of [
          ["sessions", summary.sessionId],
          ["turns", summary.throughTurnId],
        ] as const) {
          const lock = dialect.lockRows("key share");
          const row = await tx.selectFrom(table).select("id").where("id", "=", id).modifyEnd(lock).executeTakeFirst();
          if (row === undefined) return { outcome: "missing" };
        }
        const lease_expires_at = leaseEnd(dialect, lease.leaseMs);
        const values = { ...columnsOf(summary), is_stopping: 0, runner_id: lease.runnerId, lease_expires_at };
        await tx.insertInto("summaries").values(values).execute();
        return { outcome: "begun" };
      });
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      const id = await running();
      if (id !== undefined) return { outcome: "running", id };
      // The other one has ended in the meantime.
    }
  }
}

async function update(tx: Transaction<Tables>, summary: Summary): Promise<boolean> {
  const set = tx.updateTable("summaries").set(columnsOf(summary)).where("id", "=", summary.id);
  const { numUpdatedRows } = await set.where("status", "=", "pending").executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await addToSession(tx, summary);
  return true;
}

/** Inserts ended summaries of an import, but for those that exist. */
export async function importSummaries(tx: Transaction<Tables>, summaries: readonly EndedSummary[]): Promise<void> {
  for (const summary of summaries) {
    const values = { ...columnsOf(summary), is_stopping: 0, runner_id: null, lease_expires_at: null };
    const insert = tx.insertInto("summaries").values(values);
    const { numInsertedOrUpdatedRows = 0n } = await insert
      .onConflict((conflict) => conflict.column("id").doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows > 0n) await addToSession(tx, summary);
  }
}

async function addToSession(tx: Transaction<Tables>, { sessionId, end }: Summary): Promise<void> {
  if (end === null) return;
  const { total, costUsd = 0 } = end.usage;
  await tx
    .updateTable("sessions")
    .set((eb) => ({ tokens_total: eb("tokens_total", "+", total), cost_usd: eb("cost_usd", "+", costUsd) }))
    .where("id", "=", sessionId)
    .execute();
}

/** Returns the newest completed summaries of these sessions. */
export async function newestOf(db: Kysely<Tables>, sessionIds: readonly string[]): Promise<CompletedSummary[]> {
  if (sessionIds.length === 0) return [];
  const rows = await db
    .selectFrom("summaries as x")
    .select("x.doc")
    .where("x.session_id", "in", sessionIds)
    .where("x.status", "=", "completed")
    .where(isNewest)
    .execute();
  return rows.map(fromDoc).filter(isCompleted);
}

/** Selects those of the completed summaries `x` after which no other one of their session was made. */
export const isNewest = sql<boolean>`not exists (
  select 1 from summaries newer
  where newer.session_id = x.session_id and newer.status = 'completed'
    and (newer.created_at > x.created_at or (newer.created_at = x.created_at and newer.id > x.id))
)`;

/** Every runner asks often and there is rarely a lost one, so the first check must not take the write lock. */
async function takeLost(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { runnerId, leaseMs, sparedRunnerIds = [] }: SummaryLease & { sparedRunnerIds?: readonly string[] },
): Promise<Summary[]> {
  const lost = (from: Kysely<Tables>) =>
    from
      .selectFrom("summaries")
      .select("id")
      .where("status", "=", "pending")
      .where((eb) => {
        const isOver = eb("lease_expires_at", "<=", dialect.now());
        const isSpared = eb("runner_id", "in", [...sparedRunnerIds]);
        const isGone = eb("runner_id", "not in", eb.selectFrom("runners").select("runners.id"));
        return eb.or([sparedRunnerIds.length === 0 ? isOver : eb.and([isOver, eb.not(isSpared)]), isGone]);
      });
  if ((await lost(db).limit(1).executeTakeFirst()) === undefined) return [];
  return await db.transaction().execute(async (tx) => {
    const found = await lost(tx).modifyEnd(dialect.lockRows("update skip locked")).execute();
    if (found.length === 0) return [];
    const ids = found.map(({ id }) => id);
    const taken = tx
      .updateTable("summaries")
      .set({ runner_id: runnerId, lease_expires_at: leaseEnd(dialect, leaseMs) });
    return (await taken.where("id", "in", ids).returning("doc").execute()).map(fromDoc);
  });
}

function leaseEnd(dialect: SqlDialect, leaseMs: number): RawBuilder<number> {
  return sql<number>`${dialect.now()} + ${sql.lit(leaseMs)}`;
}

function columnsOf(summary: Summary): Omit<SummaryRow, "runner_id" | "lease_expires_at" | "is_stopping"> {
  const text = isCompleted(summary) ? storableText(summaryText(summary.end.lines)) : "";
  return {
    id: summary.id,
    org_id: summary.orgId,
    session_id: summary.sessionId,
    through_turn_id: summary.throughTurnId,
    status: summary.end?.status ?? "pending",
    created_at: summary.createdAt,
    folded_text: foldedText(text),
    doc: JSON.stringify(summary),
  };
}

function fromDoc({ doc }: Pick<SummaryRow, "doc">): Summary {
  return JSON.parse(doc) as Summary;
}

/** Deletes the summaries of a session that is purged, and those of other sessions that rest on turns which are deleted. */
export async function deleteSummaries(
  tx: Transaction<Tables>,
  { sessionId, turnIds }: { sessionId: string; turnIds: readonly string[] },
): Promise<void> {
  await tx.deleteFrom("summaries").where("session_id", "=", sessionId).execute();
  await inBatches(turnIds, async (batch) => {
    await tx.deleteFrom("summaries").where("through_turn_id", "in", batch).execute();
    return [];
  });
}

/** Returns the summaries whose range ends at a turn. */
export async function summariesThrough(db: Kysely<Tables>, turnId: string): Promise<Summary[]> {
  const rows = await db.selectFrom("summaries").select("doc").where("through_turn_id", "=", turnId).execute();
  return rows.map(fromDoc);
}
