/** The steps of a run in SQL (R2). */
import type { Kysely } from "kysely";
import type { Step } from "../../domain/step.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { StepRow, Tables } from "./tables.ts";
import { pending } from "./turn-status.ts";

/** Inserts the step. If another process ends the turn before this, the turn is not pending; otherwise that process waits (R1, T2). */
export async function insertStep(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { step, runnerId }: { step: Step; runnerId: string },
): Promise<boolean> {
  const row = stepToRow(step);
  const { numInsertedOrUpdatedRows } = await db
    .with("own", (at) =>
      at
        .selectFrom("turns")
        .select("id")
        .where("id", "=", step.turnId)
        .where("status", "=", pending)
        .where("runner_id", "=", runnerId)
        .modifyEnd(dialect.lockRows("update")),
    )
    .insertInto("steps")
    .columns(["turn_id", "step", "doc"])
    .expression((eb) => eb.selectFrom("own").select(["own.id", eb.lit(row.step).as("step"), eb.val(row.doc).as("doc")]))
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export function stepToRow({ turnId, index, ...doc }: Step): StepRow {
  return { turn_id: turnId, step: index, doc: JSON.stringify(doc) };
}

export async function listSteps(db: Kysely<Tables>, turnId: string): Promise<Step[]> {
  const rows = await db.selectFrom("steps").selectAll().where("turn_id", "=", turnId).orderBy("step").execute();
  return rows.map((row) => ({
    turnId,
    index: row.step,
    ...(JSON.parse(row.doc) as Omit<Step, "turnId" | "index">),
  }));
}
