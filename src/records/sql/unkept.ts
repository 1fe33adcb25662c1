/** Turns whose content is not kept, in SQL (O3). */
import type { Kysely } from "kysely";
import { lostEnd, type UnkeptEnd, type UnkeptRecords, type UnkeptTurn } from "../unkept.ts";
import type { Tables, UnkeptRow } from "./tables.ts";

export function unkeptRecords(db: Kysely<Tables>): UnkeptRecords {
  return {
    async insert(turn) {
      await db.insertInto("unkept_turns").values(unkeptToRow(turn)).execute();
    },
    async finish(id, end) {
      const ended = { ended_at: end.at, doc: JSON.stringify(end) };
      await db.updateTable("unkept_turns").set(ended).where("id", "=", id).where("ended_at", "is", null).execute();
    },
    async failLost(at) {
      const { numUpdatedRows } = await db
        .updateTable("unkept_turns")
        .set({ ended_at: at, doc: JSON.stringify(lostEnd(at)) })
        .where("ended_at", "is", null)
        .where("runner_id", "not in", (eb) => eb.selectFrom("runners").select("id"))
        .executeTakeFirst();
      return Number(numUpdatedRows);
    },
    async list(userId, { limit }) {
      const own = db.selectFrom("unkept_turns").selectAll().where("user_id", "=", userId);
      return (await own.orderBy("id", "desc").limit(limit).execute()).map(rowToUnkept);
    },
  };
}

function unkeptToRow({ id, orgId, userId, runnerId, startedAt, requestHash, end }: UnkeptTurn): UnkeptRow {
  return {
    id,
    org_id: orgId,
    user_id: userId,
    runner_id: runnerId,
    started_at: startedAt,
    ended_at: end?.at ?? null,
    request_hash: requestHash,
    doc: end === null ? "{}" : JSON.stringify(end),
  };
}

function rowToUnkept(row: UnkeptRow): UnkeptTurn {
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    runnerId: row.runner_id,
    startedAt: row.started_at,
    requestHash: row.request_hash,
    end: row.ended_at === null ? null : (JSON.parse(row.doc) as UnkeptEnd),
  };
}
