/** Facts about the store in SQL. */
import type { Kysely } from "kysely";
import { newId } from "../../domain/ids.ts";
import type { StorageRecords } from "../storage.ts";
import type { Tables } from "./tables.ts";

const blobStore = "blob_store";
const probeName = "probe";

export function storageRecords(db: Kysely<Tables>, about: StorageRecords["about"]): StorageRecords {
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
    async probe() {
      const value = newId();
      await db
        .insertInto("store_facts")
        .values({ name: probeName, value })
        .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
        .execute();
    },
  };
}
