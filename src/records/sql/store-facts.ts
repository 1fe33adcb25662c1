/** What the records say of the stores beside them, in SQL. */
import type { Kysely } from "kysely";
import type { RecordStore } from "../record-store.ts";
import type { Tables } from "./tables.ts";

const blobStore = "blob_store";

export function storeFacts(db: Kysely<Tables>): Pick<RecordStore, "claimBlobStore" | "blobStoreId"> {
  const find = async (): Promise<string | null> => {
    const row = await db.selectFrom("store_facts").select("value").where("name", "=", blobStore).executeTakeFirst();
    return row?.value ?? null;
  };
  return {
    async claimBlobStore(id) {
      await db
        .insertInto("store_facts")
        .values({ name: blobStore, value: id })
        .onConflict((conflict) => conflict.column("name").doNothing())
        .execute();
      return (await find()) ?? id;
    },
    blobStoreId: find,
  };
}
