/** The forks of turns in SQL: how many begin below each turn, and the newest of them. */
import { sql, type Kysely } from "kysely";
import type { ForkQuery, TurnForks } from "../../sessions.ts";
import { inBatches } from "../batches.ts";
import { rowToSession } from "../rows/session-row.ts";
import type { Tables } from "../tables.ts";
import { isVisible } from "./visible-sessions.ts";

export async function listForks(db: Kysely<Tables>, { below, ...query }: ForkQuery): Promise<TurnForks[]> {
  const column = "turnIds" in below ? "t.id" : "t.session_id";
  const ids = "turnIds" in below ? below.turnIds : below.sessionIds;
  const rows = await inBatches([...new Set(ids)], (batch) => numbered(db, query, { column, batch }));
  const found = new Map<string, TurnForks>();
  for (const { turn_id: turnId, turn_session_id: sessionId, sequence, depth, forks, place: _place, ...row } of rows) {
    const known = found.get(turnId) ?? { turnId, sessionId, sequence, depth, count: Number(forks), newest: [] };
    known.newest.push(rowToSession(row));
    found.set(turnId, known);
  }
  return [...found.values()].toSorted((a, b) => (a.turnId < b.turnId ? -1 : 1));
}

interface Below {
  column: "t.id" | "t.session_id";
  batch: string[];
}

/** Numbers the forks of each turn, the newest activity first, and returns those with the smallest numbers. */
async function numbered(db: Kysely<Tables>, { perTurnMax, ...scope }: Omit<ForkQuery, "below">, below: Below) {
  const forks = db
    .selectFrom("sessions as s")
    .innerJoin("turns as t", "t.id", "s.origin_turn_id")
    .selectAll("s")
    .select(["t.id as turn_id", "t.session_id as turn_session_id", "t.sequence", "t.depth"])
    .select([
      sql<number>`count(*) over (partition by t.id)`.as("forks"),
      sql<number>`row_number() over (partition by t.id order by s.active_at desc, s.id desc)`.as("place"),
    ])
    .where(below.column, "in", below.batch)
    .whereRef("s.id", "<>", "t.session_id")
    .where(({ eb }) => isVisible(scope)(eb));
  const first = db.selectFrom(forks.as("f")).selectAll().where("f.place", "<=", perTurnMax);
  return await first.orderBy("f.turn_id").orderBy("f.place").execute();
}
