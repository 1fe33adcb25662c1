/** Purging in SQL, and which turns other sessions need (S6). */
import { sql, type Kysely, type Transaction } from "kysely";
import type { Millis } from "../../domain/ids.ts";
import { summaryBlobs } from "../../domain/summary.ts";
import { partBlobs } from "../../domain/turn.ts";
import { sumsOfKept, type PurgeRecords } from "../purges.ts";
import { inBatches } from "./batches.ts";
import { rowToTurn, selectTurn } from "./rows/turn-row.ts";
import { removeBudgets } from "./running/budgets.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import { deleteSummaries, summariesThrough } from "./summaries.ts";
import type { Tables } from "./tables.ts";
import type { DeletedTurn } from "./ends/turn-ends.ts";

export function purgeRecords(db: Kysely<Tables>, dialect: SqlDialect): PurgeRecords {
  return {
    sharedTurnIds: (sessionId) => sharedTurnIds(db, sessionId),
    purgeSession: (sessionId, kept, removedAt) =>
      db.transaction().execute((tx) => purgeSession(tx, dialect, { sessionId, kept: new Set(kept), removedAt })),
    existingTurnIds: (ids) =>
      inBatches([...new Set(ids)], async (batch) => {
        const rows = await db.selectFrom("turns").select("id").where("id", "in", batch).execute();
        return rows.map(({ id }) => id);
      }),
    async blobKeysOf(turnId) {
      const turn = await selectTurn(db, dialect, turnId);
      if (turn === null) return [];
      const { opening, run, state } = turn.blobs;
      const requests = (await dialect.ends.listSteps(db, dialect, turnId)).map((step) => step.request.blob);
      const ofSummaries = (await summariesThrough(db, turnId)).flatMap(summaryBlobs);
      return [...new Set([opening, run, state, ...partBlobs(turn), ...requests, ...ofSummaries])].filter(
        (key) => key !== null,
      );
    },
  };
}

/** Finds the shared turns. Each turn of the session is looked up twice by index, and the walk up visits each shared turn once. */
async function sharedTurnIds(db: Kysely<Tables>, sessionId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with recursive shared (id, parent_id) as (
      select t.id, t.parent_id from turns t
      where t.session_id = ${sessionId} and (
        exists (select 1 from turns child where child.parent_id = t.id and child.session_id <> ${sessionId})
        or exists (select 1 from sessions fork where fork.origin_turn_id = t.id and fork.id <> ${sessionId})
      )
      union
      select t.id, t.parent_id from shared join turns t on t.id = shared.parent_id
      where t.session_id = ${sessionId}
    )
    select id from shared`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Locks the session, then its turns: no other process can open a turn in it, and if a fork has locked one of its turns, the
 * purge waits for the fork and sees it.
 */
async function purgeSession(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { sessionId, kept, removedAt }: { sessionId: string; kept: ReadonlySet<string>; removedAt: Millis | undefined },
): Promise<boolean> {
  const session = await tx
    .selectFrom("sessions")
    .select("deleted_at")
    .where("id", "=", sessionId)
    .modifyEnd(dialect.lockRows("update"))
    .executeTakeFirst();
  if (session === undefined) return true;
  if (removedAt !== undefined && session.deleted_at !== removedAt) return false;
  const turns = await tx
    .selectFrom("turns")
    .select(["id", "sequence", "status"])
    .where("session_id", "=", sessionId)
    .modifyEnd(dialect.lockRows("update"))
    .execute();
  if (turns.some((turn) => turn.status === "pending")) return false;
  const shared = await sharedTurnIds(tx, sessionId);
  if (shared.some((id) => !kept.has(id))) return false;

  const gone = turns.filter((turn) => !kept.has(turn.id));
  await tx.deleteFrom("mailbox").where("session_id", "=", sessionId).execute();
  await deleteSummaries(tx, { sessionId, turnIds: gone.map(({ id }) => id) });
  await deleteTurns(tx, dialect, { sessionId, gone });
  await tx.deleteFrom("head_moves").where("session_id", "=", sessionId).execute();
  if (gone.length === turns.length) await deleteSession(tx, sessionId);
  else await trimSession(tx, dialect, { sessionId, gone, left: turns.filter((turn) => kept.has(turn.id)) });
  return true;
}

async function deleteTurns(
  tx: Transaction<Tables>,
  { ends }: SqlDialect,
  { sessionId, gone }: { sessionId: string; gone: readonly DeletedTurn[] },
): Promise<void> {
  await inBatches(gone, async (batch) => {
    const ids = batch.map(({ id }) => id);
    await tx.deleteFrom("idempotency").where("turn_id", "in", ids).execute();
    await tx.deleteFrom("client_questions").where("turn_id", "in", ids).execute();
    await ends.delete(tx, sessionId, batch);
    return [];
  });
}

async function deleteSession(tx: Transaction<Tables>, sessionId: string): Promise<void> {
  await tx.deleteFrom("participants").where("session_id", "=", sessionId).execute();
  await removeBudgets(tx, sessionId);
  await tx.deleteFrom("sessions").where("id", "=", sessionId).execute();
}

/** Removes what names a deleted turn, and what it used from the sums. */
async function trimSession(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { sessionId, gone, left }: { sessionId: string; gone: readonly DeletedTurn[]; left: readonly DeletedTurn[] },
): Promise<void> {
  const authors = tx.selectFrom("turns").select("created_by").where("session_id", "=", sessionId);
  await tx.deleteFrom("participants").where("session_id", "=", sessionId).where("user_id", "not in", authors).execute();
  await inBatches(gone, async (batch) => {
    const ids = batch.map(({ id }) => id);
    await tx
      .updateTable("sessions")
      .set({ head_turn_id: null })
      .where("id", "=", sessionId)
      .where("head_turn_id", "in", ids)
      .execute();
    return [];
  });
  const turns = await inBatches(left, async (batch) => {
    const ids = batch.map(({ id }) => id);
    const rows = await tx.selectFrom("turns").selectAll().where("id", "in", ids).execute();
    return rows.map((row) => rowToTurn(row, dialect.ends));
  });
  const { tokensTotal, costUsd } = sumsOfKept(turns);
  await tx
    .updateTable("sessions")
    .set({ tokens_total: tokensTotal, cost_usd: costUsd })
    .where("id", "=", sessionId)
    .execute();
}
