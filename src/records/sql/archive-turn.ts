/** Archives a turn in SQL (T2). The session is locked first, as an opening does, so no turn of it begins meanwhile. */
import { sql, type Kysely, type Transaction } from "kysely";
import { archiveTurn } from "../../domain/turn.ts";
import type { ArchiveResult, TurnArchival } from "../turns.ts";
import { selectTurn, turnToRow } from "./rows/turn-row.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";
import { pending } from "./turn-status.ts";

const archivedStatus = sql.lit<"archived">("archived");

export async function archiveStored(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { turnId, at }: TurnArchival,
): Promise<ArchiveResult> {
  const found = await selectTurn(tx, dialect, turnId);
  if (found === null || found.kind !== "agent") return { outcome: "missing" };
  const { sessionId, sequence } = found;
  await tx
    .selectFrom("sessions")
    .select("id")
    .where("id", "=", sessionId)
    .modifyEnd(dialect.lockRows("update"))
    .executeTakeFirst();
  const turn = await selectTurn(tx, dialect, turnId);
  if (turn === null) return { outcome: "missing" };
  if (turn.status === "archived") return { outcome: "archived", turn };
  if (turn.status === "pending") return { outcome: "pending" };
  const by = await needOf(tx, turnId);
  if (by !== null) return { outcome: "needed", by };
  const archived = archiveTurn(turn, at);
  const { status, doc } = turnToRow(archived);
  const { numUpdatedRows } = await tx
    .updateTable("turns")
    .set({ status, doc })
    .where("id", "=", turnId)
    .where("status", "=", turn.status)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return await archiveStored(tx, dialect, { turnId, at });
  await tx
    .updateTable("sessions")
    .set({ last_turn_status: status })
    .where("id", "=", sessionId)
    .where("last_sequence", "=", sequence)
    .execute();
  return { outcome: "archived", turn: archived };
}

/** Returns what needs the turn. Null if nothing does. */
async function needOf(tx: Transaction<Tables>, turnId: string): Promise<"head" | "fork" | "turn" | null> {
  const sessions = tx.selectFrom("sessions").select("id");
  if ((await sessions.where("head_turn_id", "=", turnId).executeTakeFirst()) !== undefined) return "head";
  if ((await sessions.where("origin_turn_id", "=", turnId).executeTakeFirst()) !== undefined) return "fork";
  const child = tx.selectFrom("turns").select("id").where("parent_id", "=", turnId);
  return (await child.where("status", "<>", archivedStatus).executeTakeFirst()) === undefined ? null : "turn";
}

export async function hideStored(db: Kysely<Tables>, { turnId, at }: TurnArchival): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("turns")
    .set({ hidden_at: sql<number>`coalesce(hidden_at, ${at})` })
    .where("id", "=", turnId)
    .where("status", "<>", pending)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
