/** Budgets in SQL (F11). */
import { sql, type ExpressionBuilder, type Kysely, type Transaction } from "kysely";
import {
  dayMs,
  decideHolds,
  targetIdsOf,
  type Budget,
  type BudgetState,
  type BudgetTargets,
} from "../../../domain/budget.ts";
import type { BudgetRecords, BudgetReservation, CallKey, ReserveResult, UsedAmounts } from "../../budgets.ts";
import { inBatches } from "../batches.ts";
import { plain, plainList, type PlainSql } from "../plain/plain-sql.ts";
import type { SqlDialect } from "../sql-dialect.ts";
import type { BudgetRow, Tables } from "../tables.ts";

export function budgetRecords(db: Kysely<Tables>, dialect: SqlDialect): BudgetRecords {
  return {
    set: (budget) => db.transaction().execute((tx) => put(tx, dialect, budget)),
    remove: (id) => db.transaction().execute((tx) => remove(tx, id)),
    async get(id) {
      const row = await selectStates(db, dialect).where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToState(row);
    },
    async list(orgId) {
      const rows = await selectStates(db, dialect).where("org_id", "=", orgId).execute();
      return rows.map(rowToState);
    },
    async applying(targets) {
      const rows = await selectStates(db, dialect).where("target_id", "in", targetIdsOf(targets)).execute();
      return rows.map(rowToState);
    },
    withBudget: (targetIds) =>
      inBatches(targetIds, async (batch) => {
        const found = db.selectFrom("budgets").select("target_id").distinct().where("target_id", "in", batch);
        return (await found.execute()).map(({ target_id }) => target_id);
      }),
    reserve: (reservation) => db.transaction().execute((tx) => reserve(tx, dialect, reservation)),
    settle: (call, used) => db.transaction().execute((tx) => settle(tx, call, used)),
    async settleLost(lost) {
      // This is asked often, and mostly nothing is lost.
      const found = await db.selectFrom("budget_holds").select("turn_id").where(isLost(lost)).limit(1).execute();
      if (found.length > 0) await db.transaction().execute((tx) => settleLost(tx, lost));
    },
  };
}

/** Returns an expression that is true if the targets have a budget. It is a part of the statement that opens a turn. */
export function budgetCount(targets: BudgetTargets | undefined): PlainSql {
  if (targets === undefined) return plain`0`;
  return plain`(select count(*) from budgets where target_id in (${plainList(targetIdsOf(targets))}))`;
}

async function put(tx: Transaction<Tables>, dialect: SqlDialect, budget: Budget): Promise<BudgetState> {
  const { id } = await tx
    .insertInto("budgets")
    .values(budgetToRow(budget))
    .onConflict((conflict) =>
      conflict.columns(["target_id", "period", "unit"]).doUpdateSet((eb) => ({
        limit_amount: eb.ref("excluded.limit_amount"),
        doc: eb.ref("excluded.doc"),
      })),
    )
    .returning("id")
    .executeTakeFirstOrThrow();
  return rowToState(await selectStates(tx, dialect).where("id", "=", id).executeTakeFirstOrThrow());
}

/** Deletes the budgets of a target that is deleted. */
export async function removeBudgets(tx: Transaction<Tables>, targetId: string): Promise<void> {
  const rows = await tx.selectFrom("budgets").select("id").where("target_id", "=", targetId).execute();
  for (const { id } of rows) await remove(tx, id);
}

async function remove(tx: Transaction<Tables>, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom("budgets").where("id", "=", id).executeTakeFirst();
  await tx.deleteFrom("budget_holds").where("budget_id", "=", id).execute();
  await tx.deleteFrom("budget_counts").where("budget_id", "=", id).execute();
  return numDeletedRows > 0n;
}

/** Reads a budget with what is used of it in one statement, so that a call that ends meanwhile counts once. */
function selectStates(db: Kysely<Tables>, dialect: SqlDialect) {
  const today = sql<number>`cast(floor(${dialect.now()} / ${sql.lit(dayMs)}) as bigint)`;
  const day = sql<number>`case when period = 'total' then 0 else ${today} end`;
  return db
    .selectFrom("budgets")
    .selectAll()
    .select([
      day.as("day"),
      sql<number>`coalesce((select c.spent from budget_counts c
        where c.budget_id = budgets.id and c.day = ${day}), 0)`.as("spent"),
      sql<number>`cast(coalesce((select sum(h.amount) from budget_holds h
        where h.budget_id = budgets.id and h.day = ${day}), 0) as bigint)`.as("reserved"),
    ])
    .orderBy("created_at")
    .orderBy("id");
}

/** Locks the budgets first, in one order, so that of two calls one decides after the other has its holds. */
async function reserve(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { turnId, step, runnerId, targets, bound, passed }: BudgetReservation,
): Promise<ReserveResult> {
  const ids = targetIdsOf(targets);
  const lock = tx.selectFrom("budgets").select("id").where("target_id", "in", ids).orderBy("id");
  const locked = (await lock.modifyEnd(dialect.lockRows("update")).execute()).map(({ id }) => id);
  if (locked.length === 0) return { outcome: "reserved", holds: [] };
  const rows = await selectStates(tx, dialect).where("id", "in", locked).execute();
  const budgets = rows.map((row) => ({ ...rowToState(row), day: Number(row.day) }));
  const decided = decideHolds(budgets, { bound, passed });
  if ("refusals" in decided) return { outcome: "refused", ...decided };
  const holds = decided.holds.map(({ budgetId, day, amount }) => {
    return { turn_id: turnId, step, budget_id: budgetId, day, amount, runner_id: runnerId };
  });
  await tx.insertInto("budget_holds").values(holds).execute();
  return { outcome: "reserved", ...decided };
}

interface EndedHold {
  budget_id: string;
  day: number;
  amount: number;
}

const holdColumns = ["budget_id", "day", "amount"] as const;

async function settle(tx: Transaction<Tables>, { turnId, step }: CallKey, used: UsedAmounts): Promise<void> {
  const ended = tx.deleteFrom("budget_holds").where("turn_id", "=", turnId).where("step", "=", step);
  await count(tx, await ended.returning(holdColumns).execute(), used);
}

type Lost = Parameters<BudgetRecords["settleLost"]>[0];

async function settleLost(tx: Transaction<Tables>, lost: Lost): Promise<void> {
  const ended = tx.deleteFrom("budget_holds").where(isLost(lost)).returning(holdColumns);
  await count(tx, await ended.execute(), new Map());
}

function isLost(lost: Lost) {
  return (eb: ExpressionBuilder<Tables, "budget_holds">) =>
    lost === "of lost runners"
      ? eb("runner_id", "not in", eb.selectFrom("runners").select("id"))
      : eb("turn_id", "=", lost.turnId);
}

/** Counts the ended holds, in one order of the rows that other calls change too. */
async function count(tx: Transaction<Tables>, ended: readonly EndedHold[], used: UsedAmounts): Promise<void> {
  const ordered = ended.toSorted((one, other) => (one.budget_id < other.budget_id ? -1 : 1));
  for (const { budget_id, day, amount } of ordered) {
    const spent = used === "nothing" ? 0 : (used.get(budget_id) ?? amount);
    await tx
      .insertInto("budget_counts")
      .values({ budget_id, day, spent })
      .onConflict((conflict) =>
        conflict
          .columns(["budget_id", "day"])
          .doUpdateSet((eb) => ({ spent: eb("budget_counts.spent", "+", eb.ref("excluded.spent")) })),
      )
      .execute();
  }
}

type Settings = Pick<Budget, "unknownPrice" | "onLimit">;

function budgetToRow(budget: Budget): BudgetRow {
  const { id, orgId, scope, targetId, period, unit, limit, createdAt, createdBy, unknownPrice, onLimit } = budget;
  const settings: Settings = { unknownPrice, onLimit };
  return {
    id,
    org_id: orgId,
    scope,
    target_id: targetId,
    period,
    unit,
    limit_amount: limit,
    created_at: createdAt,
    created_by: createdBy,
    doc: JSON.stringify(settings),
  };
}

function rowToState(row: BudgetRow & { spent: number; reserved: number }): BudgetState {
  return {
    id: row.id,
    orgId: row.org_id,
    scope: row.scope,
    targetId: row.target_id,
    period: row.period,
    unit: row.unit,
    limit: row.limit_amount,
    ...(JSON.parse(row.doc) as Settings),
    createdAt: row.created_at,
    createdBy: row.created_by,
    spent: row.spent,
    reserved: row.reserved,
  };
}
