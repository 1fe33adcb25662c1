/** The ends of turns as plain rows: a document, a row for each step, and a row with the texts. */
import { sql, type Transaction } from "kysely";
import type { ImportedTurn } from "../../imports.ts";
import { inBatches } from "../batches.ts";
import { textToRow } from "../rows/text-row.ts";
import { turnToRow } from "../rows/turn-row.ts";
import { selectSteps, stepToRow } from "../steps.ts";
import type { Tables } from "../tables.ts";
import type { TurnEnd, TurnEnds } from "./turn-ends.ts";

export const plainEnds: TurnEnds = {
  docOf: ({ doc }) => doc,
  prepare: async (end) => ({ write: (tx) => writeEnd(tx, end) }),
  insert: insertTurns,
  async delete(tx, sessionId, turns) {
    const ids = turns.map(({ id }) => id);
    const sequences = turns.map(({ sequence }) => sequence);
    await tx.deleteFrom("steps").where("turn_id", "in", ids).execute();
    await tx.deleteFrom("texts").where("session_id", "=", sessionId).where("sequence", "in", sequences).execute();
    await tx.deleteFrom("turns").where("id", "in", ids).execute();
  },
  sealedRoom: sql`0`,
  listSteps: selectSteps,
};

async function writeEnd(tx: Transaction<Tables>, { turn, steps, text }: TurnEnd): Promise<void> {
  const { status, doc, runner_id, lease_expires_at, history_key } = turnToRow(turn);
  const ended = { status, doc, runner_id, lease_expires_at, history_key };
  await tx.updateTable("turns").set(ended).where("id", "=", turn.id).execute();
  if (steps.length > 0) await tx.insertInto("steps").values(steps.map(stepToRow)).execute();
  if (text === null) return;
  const row = { session_id: turn.sessionId, sequence: turn.sequence, ...textToRow(text) };
  await tx.insertInto("texts").values(row).execute();
}

async function insertTurns(tx: Transaction<Tables>, turns: readonly ImportedTurn[]): Promise<void> {
  await tx
    .insertInto("turns")
    .values(turns.map(({ turn }) => turnToRow(turn)))
    .execute();
  const texts = turns.map(({ turn, text }) => ({
    session_id: turn.sessionId,
    sequence: turn.sequence,
    ...textToRow(text),
  }));
  await tx.insertInto("texts").values(texts).execute();
  await inBatches(
    turns.flatMap(({ steps }) => steps),
    async (steps) => {
      await tx.insertInto("steps").values(steps.map(stepToRow)).execute();
      return [];
    },
  );
}
