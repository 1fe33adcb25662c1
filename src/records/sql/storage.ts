/** Facts about the store in SQL. */
import { sql, type Kysely } from "kysely";
import { newId } from "../../domain/ids.ts";
import type { StorageRecords, TurnRoom } from "../storage.ts";
import { inBatches } from "./batches.ts";
import type { TurnEnds } from "./ends/turn-ends.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { Tables } from "./tables.ts";

const blobStore = "blob_store";
const probeName = "probe";

export function storageRecords(
  db: Kysely<Tables>,
  { ends, takeRoom }: Pick<SqlDialect, "ends" | "takeRoom">,
  { about, checkPlace }: Pick<StorageRecords, "about"> & { checkPlace?: (() => void) | undefined },
): StorageRecords {
  const find = async (): Promise<string | null> => {
    const row = await db.selectFrom("store_facts").select("value").where("name", "=", blobStore).executeTakeFirst();
    return row?.value ?? null;
  };
  return {
    about,
    async claimBlobStore(id) {
      await db
        .insertInto("store_facts")
        .values({ name: blobStore, value: id })
        .onConflict((conflict) => conflict.column("name").doNothing())
        .execute();
      return (await find()) ?? id;
    },
    blobStoreId: find,
    async turnIds({ after, limit }) {
      let turns = db.selectFrom("turns").select("id").orderBy("id").limit(limit);
      if (after !== null) turns = turns.where("id", ">", after);
      return (await turns.execute()).map(({ id }) => id);
    },
    turnRoom: (ids) => inBatches(ids, (batch) => turnRoom(db, ends, batch)),
    async probe() {
      const value = newId();
      await db
        .insertInto("store_facts")
        .values({ name: probeName, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
        .execute();
      // The row finds its room in the pages that the table has already, also on a full disk.
      await takeRoom()?.execute(db);
    },
    ...(checkPlace !== undefined && { checkPlace: async () => checkPlace() }),
  };
}

async function turnRoom(db: Kysely<Tables>, { sealedRoom }: TurnEnds, ids: readonly string[]): Promise<TurnRoom[]> {
  const { rows } = await sql<{ turnId: string; row: number | string; texts: number | string }>`
    select t.id as "turnId",
      octet_length(t.doc) + ${sealedRoom}
        + coalesce((select sum(octet_length(s.doc)) from steps s where s.turn_id = t.id), 0) as "row",
      coalesce((
        select octet_length(x.instruction) + octet_length(x.answer)
          + coalesce(octet_length(x.folded_instruction), 0) + coalesce(octet_length(x.folded_answer), 0)
        from texts x where x.session_id = t.session_id and x.sequence = t.sequence
      ), 0) as "texts"
    from turns t where t.id in (${sql.join(ids)})`.execute(db);
  // PostgreSQL returns a sum as text.
  return rows.map(({ turnId, row, texts }) => ({ turnId, row: Number(row), texts: Number(texts) }));
}
