/** Turns in SQL: the part of the records for them. How a turn opens and finishes stands in `running/` and `ends/`. */
import type { Kysely } from "kysely";
import type { PendingTurn } from "../../domain/turn.ts";
import { foundByHistoryMax, type FoundByHistory, type TurnRecords } from "../turns.ts";
import { archiveStored, hideStored } from "./archive-turn.ts";
import { inBatches } from "./batches.ts";
import { finishPrepared } from "./ends/finish-turn.ts";
import { findIdempotent, keepIdempotent } from "./idempotency.ts";
import { selectLastTurns, selectTurn, rowToTurn } from "./rows/turn-row.ts";
import { openRow } from "./running/open-turn.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import { insertStep } from "./steps.ts";
import type { Tables } from "./tables.ts";
import { agent, pending } from "./turn-status.ts";

export function turnRecords(db: Kysely<Tables>, dialect: SqlDialect): TurnRecords {
  return {
    open: (opening) => openRow(db, dialect, { opening }),
    finish: async (finish) => finishPrepared(db, dialect, { finish, end: await dialect.ends.prepare(finish) }),
    archive: (archival) => db.transaction().execute((tx) => archiveStored(tx, dialect, archival)),
    hide: (hiding) => hideStored(db, hiding),
    get: (id) => selectTurn(db, dialect, id),
    async list(sessionId, { before, limit, kind }) {
      let select = db.selectFrom("turns").selectAll().where("session_id", "=", sessionId);
      if (kind !== undefined) select = select.where("kind", "=", kind);
      if (before !== undefined) select = select.where("sequence", "<", before);
      const rows = await select.orderBy("sequence", "desc").limit(limit).execute();
      return rows.map((row) => rowToTurn(row, dialect.ends));
    },
    listLast: (sessionIds) => inBatches([...new Set(sessionIds)], (batch) => selectLastTurns(db, dialect, batch)),
    async findPending(sessionId) {
      const row = await db
        .selectFrom("turns")
        .selectAll()
        .where("session_id", "=", sessionId)
        .where("status", "=", pending)
        .where("kind", "=", agent)
        .executeTakeFirst();
      return row === undefined ? null : (rowToTurn(row, dialect.ends) as PendingTurn);
    },
    async listPending() {
      const rows = await db.selectFrom("turns").selectAll().where("status", "=", pending).orderBy("id").execute();
      return rows.map((row) => rowToTurn(row, dialect.ends) as PendingTurn);
    },
    findIdempotent: (userId, key) => findIdempotent(db, { userId, key }),
    keepIdempotent: (request) => keepIdempotent(db, request),
    findByHistory: (author, keys) => findByHistory(db, { author, keys }),
    insertStep: (step, runnerId) => insertStep(db, dialect, { step, runnerId }),
    listSteps: (turnId) => dialect.ends.listSteps(db, dialect, turnId),
  };
}

async function findByHistory(
  db: Kysely<Tables>,
  { author, keys }: { author: string; keys: readonly string[] },
): Promise<FoundByHistory[]> {
  if (keys.length === 0) return [];
  const rows = await db
    .selectFrom("turns")
    .select(["id", "history_key"])
    .where("created_by", "=", author)
    .where("history_key", "in", [...keys])
    .orderBy("created_at", "desc")
    .limit(foundByHistoryMax)
    .execute();
  return rows.map(({ id, history_key }) => ({ turnId: id, historyKey: history_key ?? "" }));
}
