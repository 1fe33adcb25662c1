/** Leases in SQL: who may write a running turn, and until when, by the clock of the database (R1, R2). */
import { sql, type Kysely } from "kysely";
import type { PendingTurn } from "../../domain/turn.ts";
import type { LeaseRenewal, LostTurnsTaking, RecordStore } from "../record-store.ts";
import { inBatches } from "./batches.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";
import { rowToTurn } from "./rows/turn-row.ts";
import { pending } from "./turn-status.ts";

export function leaseRecords(
  db: Kysely<Tables>,
  dialect: SqlDialect,
): Pick<RecordStore, "renewLeases" | "takeLostTurns"> {
  return {
    renewLeases: (renewal) => inBatches(renewal.turnIds, (batch) => renew(db, dialect, { ...renewal, turnIds: batch })),
    async takeLostTurns(taking) {
      // Every runner asks often and there is hardly ever any: looking must not take the lock for writing.
      const any = await lostTurns(db, dialect, { ...taking, limit: 1 }).executeTakeFirst();
      return any === undefined ? [] : await take(db, dialect, taking);
    },
  };
}

async function renew(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { runnerId, turnIds, leaseMs }: LeaseRenewal,
): Promise<string[]> {
  const until = sql<number>`${dialect.now()} + ${sql.lit(leaseMs)}`;
  const rows = await db
    .updateTable("turns")
    .set((eb) => ({
      // One that was sent earlier and comes later takes nothing back.
      lease_expires_at: eb
        .case()
        .when("lease_expires_at", ">", until)
        .then(eb.ref("lease_expires_at"))
        .else(until)
        .end(),
    }))
    .where("id", "in", turnIds)
    .where("status", "=", pending)
    .where("runner_id", "=", runnerId)
    .returning("id")
    .execute();
  return rows.map(({ id }) => id);
}

function lostTurns(db: Kysely<Tables>, dialect: SqlDialect, { deadRunnerIds, limit, turnId }: LostTurnsTaking) {
  let select = db
    .selectFrom("turns")
    .select("id")
    .where("status", "=", pending)
    .where((eb) => {
      const ranOut = eb("lease_expires_at", "<=", dialect.now());
      return deadRunnerIds.length === 0 ? ranOut : eb.or([ranOut, eb("runner_id", "in", deadRunnerIds)]);
    });
  if (turnId !== undefined) select = select.where("id", "=", turnId);
  return select.orderBy("lease_expires_at").orderBy("id").limit(limit);
}

/** What another runner is just taking, or its own is just ending, is passed over; so each goes to one, and nobody waits. */
async function take(db: Kysely<Tables>, dialect: SqlDialect, taking: LostTurnsTaking): Promise<PendingTurn[]> {
  const rows = await db
    .with(
      // Worked out once: else the engine may work it out, and lock, again for every row.
      (cte) => cte("lost").materialized(),
      (at) => lostTurns(at as Kysely<Tables>, dialect, taking).modifyEnd(dialect.hold("update skip locked")),
    )
    .updateTable("turns")
    .set({ runner_id: taking.runnerId, lease_expires_at: sql<number>`${dialect.now()} + ${sql.lit(taking.leaseMs)}` })
    .where("id", "in", (eb) => eb.selectFrom("lost").select("id"))
    .returningAll()
    .execute();
  return rows.map((row) => rowToTurn(row) as PendingTurn);
}
