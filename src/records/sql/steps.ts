/** The steps of a run in SQL (R2). */
import type { Kysely } from "kysely";
import type { Step } from "../../domain/step.ts";
import { againIfUnknown, isUniqueViolation } from "./faults.ts";
import { plain, runPlain, type Placeholders } from "./plain/plain-sql.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { StepRow, Tables } from "./tables.ts";
import { fullKey, shortKey } from "./rows/turn-row.ts";
import { pending } from "./turn-status.ts";

/** Inserts the step. If another process ends the turn before this, the turn is not pending; otherwise that process waits (R1, T2). */
export async function insertStep(db: Kysely<Tables>, dialect: SqlDialect, inserted: InsertedStep): Promise<boolean> {
  return await againIfUnknown(async () => {
    try {
      return await tryToInsert(db, dialect, inserted);
    } catch (error) {
      const repeated = isUniqueViolation(error) ? await repeatedStep(db, inserted) : null;
      if (repeated === null) throw error;
      return repeated;
    }
  });
}

interface InsertedStep {
  step: Step;
  runnerId: string;
}

async function tryToInsert(
  db: Kysely<Tables>,
  dialect: SqlDialect,
  { step, runnerId }: InsertedStep,
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

/** Returns what `insertStep` returns if the step has been stored. Null: another step has its index. */
async function repeatedStep(db: Kysely<Tables>, { step, runnerId }: InsertedStep): Promise<boolean | null> {
  const row = stepToRow(step);
  const stored = await db
    .selectFrom("steps")
    .innerJoin("turns", "turns.id", "steps.turn_id")
    .select(["steps.doc", "turns.status", "turns.runner_id"])
    .where("turns.id", "=", row.turn_id)
    .where("steps.step", "=", row.step)
    .executeTakeFirst();
  if (stored?.status !== "pending" || stored.runner_id !== runnerId) return false;
  return stored.doc === row.doc ? true : null;
}

export function stepToRow(step: Step): StepRow {
  return { turn_id: step.turnId, step: step.index, doc: JSON.stringify(documentOf(step)) };
}

/** Returns the rows of steps in their order. */
export async function selectSteps(db: Kysely<Tables>, dialect: Placeholders, turnId: string): Promise<Step[]> {
  const select = plain`select turn_id, step, doc from steps where turn_id = ${turnId} order by step`;
  const { rows } = await runPlain<StepRow>(db, dialect, select);
  return rows.map((row) => ({ turnId, index: row.step, ...(JSON.parse(row.doc) as StepDocument) }));
}

type StepDocument = Omit<Step, "turnId" | "index">;

function documentOf({ turnId: _turnId, index: _index, ...doc }: Step): StepDocument {
  return doc;
}

/** Returns all steps of a turn as one JSON text. */
export function stepsToText(steps: readonly Step[]): string {
  return JSON.stringify(
    steps.map(({ turnId, ...step }) => ({
      ...step,
      request: { ...step.request, blob: shortKey(turnId, step.request.blob) },
    })),
  );
}

export function textToSteps(turnId: string, text: string): Step[] {
  return (JSON.parse(text) as Omit<Step, "turnId">[]).map((step) => ({
    turnId,
    ...step,
    request: { ...step.request, blob: fullKey(turnId, step.request.blob) },
  }));
}
