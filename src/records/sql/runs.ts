/** Steps and runners in SQL: what a run leaves behind while it goes on (R1, R2). */
import type { Kysely } from "kysely";
import type { Step } from "../../domain/step.ts";
import type { RecordStore, Runner } from "../record-store.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { StepRow, Tables } from "./tables.ts";
import { pending } from "./turn-status.ts";

type RunRecords = Pick<
  RecordStore,
  "insertStep" | "listSteps" | "insertRunner" | "getRunner" | "listRunners" | "deleteRunner"
>;

export function runRecords(db: Kysely<Tables>, dialect: SqlDialect): RunRecords {
  return {
    insertStep: (step, runnerId) => insertStep(db, dialect, { step, runnerId }),
    listSteps: (turnId) => listSteps(db, turnId),
    async insertRunner({ id, startedAt, ...doc }) {
      await db
        .insertInto("runners")
        .values({ id, started_at: startedAt, doc: JSON.stringify(doc) })
        .execute();
    },
    async getRunner(id) {
      const row = await db.selectFrom("runners").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToRunner(row);
    },
    async listRunners() {
      const rows = await db.selectFrom("runners").selectAll().orderBy("started_at").orderBy("id").execute();
      return rows.map(rowToRunner);
    },
    async deleteRunner(id) {
      await db.deleteFrom("runners").where("id", "=", id).execute();
    },
  };
}

/** Whoever ends the turn comes before this, and then it is not pending; or waits for it (R1, T2). */
async function insertStep(
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
        .modifyEnd(dialect.hold("update")),
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

function rowToRunner(row: Tables["runners"]): Runner {
  const doc = JSON.parse(row.doc) as Omit<Runner, "id" | "startedAt">;
  return { id: row.id, startedAt: row.started_at, ...doc };
}
