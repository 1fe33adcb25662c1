/** Facts about the store in memory. */
import type { StorageRecords } from "../storage.ts";
import type { Rows } from "./rows.ts";

const blobStore = "blob_store";

export function storageRecords({ storeFacts, turns, steps, texts }: Rows): StorageRecords {
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
    async turnRoom(ids) {
      return ids.flatMap((turnId) => {
        const turn = turns.get(turnId);
        if (turn === undefined) return [];
        const text = texts.get(turnId);
        const own = [...steps.values()].filter((step) => step.turnId === turnId);
        const row = bytesOf(JSON.stringify([turn, ...own]));
        return [{ turnId, row, texts: text === undefined ? 0 : bytesOf(text.instruction) + bytesOf(text.answer) }];
      });
    },
    async probe() {},
  };
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
