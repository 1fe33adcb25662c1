/** The ends of turns as plain rows: a document, a row for each step, and a row with the texts. */
import { sql, type Transaction } from "kysely";
import type { ImportedTurn } from "../../imports.ts";
import { inBatches } from "../batches.ts";
import { plain, plainRow, sendTogether } from "../plain/plain-sql.ts";
import { postgres } from "../postgres/postgres-placeholder.ts";
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
  const end = plain`
    update turns set status = ${status}, doc = ${doc}, runner_id = ${runner_id}, lease_expires_at = ${lease_expires_at},
      history_key = ${history_key}
    where id = ${turn.id}`;
  const inserts = steps.map((step) => plain`insert into steps ${plainRow(stepToRow(step))}`);
  if (text !== null) {
    const row = { session_id: turn.sessionId, sequence: turn.sequence, ...textToRow(text) };
    inserts.push(plain`insert into texts ${plainRow(row)}`);
  }
  await sendTogether(tx, postgres, [end, ...inserts]);
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
