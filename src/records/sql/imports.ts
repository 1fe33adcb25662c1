/** Imports of sessions and finished turns in SQL: one transaction for each import. */
import type { Kysely, Transaction } from "kysely";
import type { ImportedRecords, ImportedTurn, ImportRecords, ImportResult, SessionGrowth } from "../imports.ts";
import { inBatches } from "./batches.ts";
import { isUniqueViolation } from "./faults.ts";
import { sessionToRow } from "./rows/session-row.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import { importMail } from "./subagents.ts";
import { importSummaries } from "./summaries.ts";
import type { Tables } from "./tables.ts";

/** The number of turns that one statement per table inserts. */
const turnsPerStatement = 50;

export function importRecords(db: Kysely<Tables>, dialect: SqlDialect): ImportRecords {
  return {
    async insert(imported) {
      try {
        return await db.transaction().execute((tx) => insertImported(tx, dialect, imported));
      } catch (error) {
        if (isUniqueViolation(error)) return { outcome: "changed" };
        throw error;
      }
    },
  };
}

/** Checks everything first and locks what it read: after the first write only a unique index can still refuse. */
async function insertImported(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { sessions, growths, parents, turns, mail = [], summaries = [] }: ImportedRecords,
): Promise<ImportResult> {
  if (!(await holdRows(tx, dialect, { table: "turns", ids: parents }))) return { outcome: "changed" };
  for (const growth of growths) if (!(await isAsSeen(tx, dialect, growth))) return { outcome: "changed" };
  const created = new Set(sessions.map(({ id }) => id));
  const known = summaries.map(({ sessionId }) => sessionId).filter((id) => !created.has(id));
  if (!(await holdRows(tx, dialect, { table: "sessions", ids: known }))) return { outcome: "changed" };
  for (const session of sessions) await tx.insertInto("sessions").values(sessionToRow(session)).execute();
  let batch: ImportedTurn[] = [];
  for await (const turn of turns) {
    batch.push(turn);
    if (batch.length < turnsPerStatement) continue;
    await dialect.ends.insert(tx, batch);
    batch = [];
  }
  if (batch.length > 0) await dialect.ends.insert(tx, batch);
  for (const growth of growths) await grow(tx, growth);
  await importMail(tx, mail);
  await importSummaries(tx, summaries);
  return { outcome: "imported" };
}

/** Locks rows against deletion. Returns false if one of them does not exist. */
async function holdRows(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { table, ids }: { table: "turns" | "sessions"; ids: readonly string[] },
): Promise<boolean> {
  const wanted = [...new Set(ids)];
  const held = await inBatches(wanted, (batch) =>
    tx.selectFrom(table).select("id").where("id", "in", batch).modifyEnd(dialect.lockRows("key share")).execute(),
  );
  return held.length === wanted.length;
}

async function isAsSeen(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { sessionId, seen }: SessionGrowth,
): Promise<boolean> {
  const session = await tx
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", sessionId)
    .where("last_sequence", "=", seen.lastSequence)
    .where("head_turn_id", "is not distinct from", seen.headTurnId)
    .where("archived_at", "is", null)
    .where("deleted_at", "is", null)
    .modifyEnd(dialect.lockRows("update"))
    .executeTakeFirst();
  return session !== undefined;
}

async function grow(tx: Transaction<Tables>, growth: SessionGrowth): Promise<void> {
  await tx
    .updateTable("sessions")
    .set((eb) => ({
      head_turn_id: growth.headTurnId,
      last_sequence: growth.lastSequence,
      last_turn_status: growth.lastTurnStatus,
      last_turn_at: growth.lastTurnAt,
      active_at: eb
        .case()
        .when("active_at", "<", growth.activeAt)
        .then(growth.activeAt)
        .else(eb.ref("active_at"))
        .end(),
      tokens_total: eb("tokens_total", "+", growth.tokens),
      cost_usd: eb("cost_usd", "+", growth.costUsd),
    }))
    .where("id", "=", growth.sessionId)
    .execute();
}
