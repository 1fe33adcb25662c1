/** Runners in SQL: their leases, by the clock of the database, and the controls that they receive (R1, R2, R3). */
import { sql, type Kysely, type Transaction } from "kysely";
import type { PendingTurn } from "../../../domain/turn.ts";
import type { LeaseRenewal, LostTurn, LostTurnsTaking, Runner, RunnerRecords, TurnControl } from "../../runners.ts";
import { inBatches } from "../batches.ts";
import { plain, runPlain } from "../plain/plain-sql.ts";
import { rowToTurn } from "../rows/turn-row.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import type { Tables } from "../tables.ts";
import { pending } from "../turn-status.ts";

export function runnerRecords(db: Kysely<Tables>, dialect: SqlDialect): RunnerRecords {
  return {
    async insert({ id, startedAt, ...doc }) {
      await db
        .insertInto("runners")
        .values({ id, started_at: startedAt, doc: JSON.stringify(doc) })
        .onConflict((conflict) => conflict.column("id").doUpdateSet({ started_at: startedAt }))
        .execute();
    },
    async get(id) {
      const row = await db.selectFrom("runners").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToRunner(row);
    },
    async list() {
      const rows = await db.selectFrom("runners").selectAll().orderBy("started_at").orderBy("id").execute();
      return rows.map(rowToRunner);
    },
    async delete(id) {
      await db.deleteFrom("runners").where("id", "=", id).execute();
    },
    renewLeases: (renewal) => inBatches(renewal.turnIds, (batch) => renew(db, dialect, { ...renewal, turnIds: batch })),
    async takeLostTurns(taking) {
      // Every runner asks often and there is rarely a lost turn, so this check must not take the write lock.
      const any = await lostTurns(db, dialect, { ...taking, limit: 1 }).executeTakeFirst();
      return any === undefined ? [] : await db.transaction().execute((tx) => take(tx, dialect, taking));
    },
    insertControl: (control) => db.transaction().execute((tx) => insertControl(tx, dialect, control)),
    async listControls(runnerId) {
      // Runners ask often and there is rarely a control, so this check must not take the write lock.
      const { rows } = await runPlain(db, dialect, plain`select id from controls limit 1`);
      return rows.length === 0 ? [] : await listControls(db, runnerId);
    },
    async deleteControls(ids) {
      await inBatches(ids, async (batch) => {
        await db.deleteFrom("controls").where("id", "in", batch).execute();
        return [];
      });
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
      // A renewal that was sent earlier and arrives later must not shorten the lease.
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

function lostTurns(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { deadRunnerIds, sparedRunnerIds = [], limit, turnId }: LostTurnsTaking,
) {
  let select = db
    .selectFrom("turns")
    .select(["id", "runner_id"])
    .where("status", "=", pending)
    .where((eb) => {
      const isOver = eb("lease_expires_at", "<=", dialect.now());
      const ranOut =
        sparedRunnerIds.length === 0 ? isOver : eb.and([isOver, eb("runner_id", "not in", sparedRunnerIds)]);
      return deadRunnerIds.length === 0 ? ranOut : eb.or([ranOut, eb("runner_id", "in", deadRunnerIds)]);
    });
  if (turnId !== undefined) select = select.where("id", "=", turnId);
  return select.orderBy("lease_expires_at").orderBy("id").limit(limit);
}

/** Skips turns that another runner is taking or that their own runner is finishing. So each turn gets one runner, and no runner waits. */
async function take(tx: Transaction<Tables>, dialect: SqlDialect, taking: LostTurnsTaking): Promise<LostTurn[]> {
  const lost = await lostTurns(tx, dialect, taking).modifyEnd(dialect.lockRows("update skip locked")).execute();
  if (lost.length === 0) return [];
  const runnerOf = new Map(lost.map(({ id, runner_id }) => [id, runner_id]));
  const rows = await tx
    .updateTable("turns")
    .set({ runner_id: taking.runnerId, lease_expires_at: sql<number>`${dialect.now()} + ${sql.lit(taking.leaseMs)}` })
    .where("id", "in", [...runnerOf.keys()])
    .returningAll()
    .execute();
  return rows.map((row) => {
    return { turn: rowToTurn(row, dialect.ends) as PendingTurn, lostBy: runnerOf.get(row.id) ?? "" };
  });
}

async function insertControl(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { id, turnId, at, ...doc }: TurnControl,
): Promise<boolean> {
  // If another process finishes the turn before this, the turn is not pending. If after this, it finds the control.
  const running = await tx
    .selectFrom("turns")
    .select("id")
    .where("id", "=", turnId)
    .where("status", "=", pending)
    .modifyEnd(dialect.lockRows("update"))
    .executeTakeFirst();
  if (running === undefined) return false;
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("controls")
    .values({ id, turn_id: turnId, sent_at: at, doc: JSON.stringify(doc) })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n || doc.kind !== "answer";
}

async function listControls(db: Kysely<Tables>, runnerId: string): Promise<TurnControl[]> {
  const running = db.selectFrom("turns").select("id").where("status", "=", pending);
  await db.deleteFrom("controls").where("turn_id", "not in", running).execute();
  const own = running.where("runner_id", "=", runnerId);
  const rows = await db.selectFrom("controls").selectAll().where("turn_id", "in", own).execute();
  const found = rows.map(({ id, turn_id, sent_at, doc }) => ({
    id,
    turnId: turn_id,
    at: sent_at,
    ...(JSON.parse(doc) as Omit<TurnControl, "id" | "turnId" | "at">),
  }));
  return found.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
}

function rowToRunner(row: Tables["runners"]): Runner {
  const doc = JSON.parse(row.doc) as Omit<Runner, "id" | "startedAt">;
  return { id: row.id, startedAt: row.started_at, ...doc };
}
