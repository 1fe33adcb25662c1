/** The tree of turns in SQL: moving the head, and what other sessions rest on (S5, S6, T6). */
import { sql, type Kysely, type Transaction } from "kysely";
import { mayBeParent, partBlobs } from "../../domain/turn.ts";
import type { HeadMove, MoveResult, RecordStore } from "../record-store.ts";
import { purgeSession, sharedTurnIds } from "./purge.ts";
import { inBatches } from "./batches.ts";
import { listSteps } from "./runs.ts";
import { rowToSession } from "./rows/session-row.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { HeadMoveRow, Tables } from "./tables.ts";
import { agent, pending } from "./turn-status.ts";
import { getTurn } from "./turns.ts";

type TreeRecords = Pick<
  RecordStore,
  "moveHead" | "listHeadMoves" | "listForks" | "sharedTurnIds" | "purgeSession" | "existingTurnIds" | "blobKeysOf"
>;

export function treeRecords(db: Kysely<Tables>, dialect: SqlDialect): TreeRecords {
  return {
    moveHead: (move) => db.transaction().execute((tx) => moveHead(tx, dialect, move)),
    async listHeadMoves(sessionId) {
      const rows = await db
        .selectFrom("head_moves")
        .selectAll()
        .where("session_id", "=", sessionId)
        .orderBy("move")
        .execute();
      return rows.map(rowToMove);
    },
    async listForks(turnIds) {
      const rows = await inBatches([...new Set(turnIds)], (batch) =>
        db
          .selectFrom("sessions")
          .selectAll()
          .where("origin_turn_id", "in", batch)
          .where("deleted_at", "is", null)
          .execute(),
      );
      return rows.map(rowToSession).toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
    },
    sharedTurnIds: (sessionId) => sharedTurnIds(db, sessionId),
    purgeSession: (sessionId, kept) =>
      db.transaction().execute((tx) => purgeSession(tx, dialect, { sessionId, kept: new Set(kept) })),
    existingTurnIds: (ids) =>
      inBatches([...new Set(ids)], async (batch) => {
        const rows = await db.selectFrom("turns").select("id").where("id", "in", batch).execute();
        return rows.map(({ id }) => id);
      }),
    async blobKeysOf(turnId) {
      const turn = await getTurn(db, turnId);
      if (turn === null) return [];
      const { opening, run, state } = turn.blobs;
      const requests = (await listSteps(db, turnId)).map((step) => step.request.blob);
      return [...new Set([opening, run, state, ...partBlobs(turn), ...requests])].filter((key) => key !== null);
    },
  };
}

/** Whoever opens a turn writes the session first, so holding it keeps the answers below true to the end. */
async function moveHead(tx: Transaction<Tables>, dialect: SqlDialect, move: HeadMove): Promise<MoveResult> {
  const session = await tx
    .selectFrom("sessions")
    .select(["head_turn_id", "archived_at", "deleted_at"])
    .where("id", "=", move.sessionId)
    .modifyEnd(dialect.hold("update"))
    .executeTakeFirst();
  if (session === undefined || session.deleted_at !== null) return { outcome: "missing" };
  if (session.archived_at !== null) return { outcome: "archived" };
  const running = await tx
    .selectFrom("turns")
    .select("id")
    .where("session_id", "=", move.sessionId)
    .where("status", "=", pending)
    .where("kind", "=", agent)
    .executeTakeFirst();
  if (running !== undefined) return { outcome: "busy", runningTurnId: running.id };
  const headTurnId = session.head_turn_id;
  if (headTurnId !== move.from) return { outcome: "head_moved", headTurnId };
  const target = await getTurn(tx, move.to);
  if (target?.sessionId !== move.sessionId || !mayBeParent(target)) return { outcome: "missing" };

  await tx
    .updateTable("sessions")
    .set({ head_turn_id: move.to, updated_at: move.at })
    .where("id", "=", move.sessionId)
    .execute();
  await tx
    .insertInto("head_moves")
    .values({
      session_id: move.sessionId,
      move: sql<number>`(select coalesce(max(move), 0) + 1 from head_moves where session_id = ${move.sessionId})`,
      from_turn_id: move.from,
      to_turn_id: move.to,
      user_id: move.userId,
      moved_at: move.at,
    })
    .execute();
  return { outcome: "moved" };
}

function rowToMove(row: HeadMoveRow): HeadMove {
  return {
    sessionId: row.session_id,
    from: row.from_turn_id,
    to: row.to_turn_id,
    userId: row.user_id,
    at: row.moved_at,
  };
}
