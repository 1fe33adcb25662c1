/** Facts about the store in memory. */
import type { StorageRecords } from "../storage.ts";
import type { Rows } from "./rows.ts";

const blobStore = "blob_store";

export function storageRecords({ storeFacts, turns }: Rows): StorageRecords {
  return {
    async about() {
      return { product: "memory", version: 0, known: 0, oldest: 0 };
    },
    async claimBlobStore(id) {
      return storeFacts.getOrInsert(blobStore, id);
    },
    async blobStoreId() {
      return storeFacts.get(blobStore) ?? null;
    },
    async turnIds({ after, limit }) {
      const ids = [...turns.keys()].toSorted();
      return ids.filter((id) => after === null || id > after).slice(0, limit);
    },
    async probe() {},
  };
}
