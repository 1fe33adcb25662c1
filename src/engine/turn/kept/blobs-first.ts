/**
 * Writes a turn to a store of records and a store of blobs that know nothing of each other: the blobs first, the row last
 * (B1). A crash in between leaves garbage, never a row that names a missing blob.
 */
import type { BlobStore } from "../../../blobs/blob-store.ts";
import type { RecordStore } from "../../../records/record-store.ts";
import type { BlobWrite, TurnStore } from "../../../records/turn-store.ts";

export interface SeparateStores {
  records: Pick<RecordStore, "turns">;
  blobs: BlobStore;
  report(message: string, error?: unknown): void;
}

export function blobsFirst({ records, blobs, report }: SeparateStores): TurnStore {
  const put = async (writes: readonly BlobWrite[]): Promise<void> => {
    await Promise.all(writes.map(({ key, bytes }) => blobs.put(key, bytes)));
  };
  return {
    async open(opening, writes) {
      await put(writes);
      const result = await records.turns.open(opening);
      if (result.outcome !== "opened") for (const { key } of writes) await blobs.delete(key);
      return result;
    },
    async advance({ step, runnerId }, writes) {
      await put(writes);
      return step === null || (await records.turns.insertStep(step, runnerId));
    },
    async finish(finish, { put: writes, drop }) {
      await put(writes);
      const result = await records.turns.finish(finish);
      if (result.outcome === "finished") await dropQuietly(blobs, drop, report);
      return result;
    },
  };
}

/** The row is written and counts, so what cannot be deleted is only garbage. */
async function dropQuietly(
  blobs: BlobStore,
  prefixes: readonly string[],
  report: SeparateStores["report"],
): Promise<void> {
  try {
    for (const prefix of prefixes) for (const key of await blobs.list(prefix)) await blobs.delete(key);
  } catch (error) {
    report(`the blobs ${prefixes.join(", ")} could not be deleted`, error);
  }
}
