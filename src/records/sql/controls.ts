/** Controls in SQL: what one process asks of the runner of a turn (R3). */
import type { Kysely, Transaction } from "kysely";
import type { RecordStore, TurnControl } from "../record-store.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";
import { pending } from "./turn-status.ts";

export function controlRecords(
  db: Kysely<Tables>,
  dialect: SqlDialect,
): Pick<RecordStore, "insertControl" | "takeControls"> {
  return {
    insertControl: (control) => db.transaction().execute((tx) => insertControl(tx, dialect, control)),
    async takeControls(runnerId) {
      // Runners ask often and there is hardly ever anything: looking must not take the lock for writing.
      const any = await db.selectFrom("controls").select("id").limit(1).executeTakeFirst();
      return any === undefined ? [] : await takeControls(db, runnerId);
    },
  };
}

async function insertControl(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { id, turnId, at, ...doc }: TurnControl,
): Promise<boolean> {
  // Whoever finishes the turn comes before this, and then it is not pending; or after it, and then it finds the control.
  const running = await tx
    .selectFrom("turns")
    .select("id")
    .where("id", "=", turnId)
    .where("status", "=", pending)
    .modifyEnd(dialect.hold("update"))
    .executeTakeFirst();
  if (running === undefined) return false;
  await tx
    .insertInto("controls")
    .values({ id, turn_id: turnId, sent_at: at, doc: JSON.stringify(doc) })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  return true;
}

async function takeControls(db: Kysely<Tables>, runnerId: string): Promise<TurnControl[]> {
  const rows = await db.transaction().execute(async (tx) => {
    await tx
      .deleteFrom("controls")
      .where("turn_id", "not in", tx.selectFrom("turns").select("id").where("status", "=", pending))
      .execute();
    const own = tx.selectFrom("turns").select("id").where("status", "=", pending).where("runner_id", "=", runnerId);
    return await tx.deleteFrom("controls").where("turn_id", "in", own).returningAll().execute();
  });
  const taken = rows.map(({ id, turn_id, sent_at, doc }) => ({
    id,
    turnId: turn_id,
    at: sent_at,
    ...(JSON.parse(doc) as Omit<TurnControl, "id" | "turnId" | "at">),
  }));
  return taken.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
}
