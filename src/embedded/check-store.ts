/** Reads everything of a store, to find what is missing or damaged, in a time that grows with the bytes that are stored. */
import { failureOf } from "../domain/errors.ts";
import type { EmbeddedBlobs } from "./embedded-blobs.ts";
import { folderOf } from "./packed-blobs.ts";
import type { SqliteEngine } from "../records/sql/sqlite/sqlite.ts";
import type { RecordStore } from "../records/record-store.ts";

export interface StoreCheck {
  turns: number;
  blobs: number;
  /** The key of a blob, or the folder of a turn whose row is damaged, and words that follow it. */
  damaged: { name: string; why: string }[];
}

export async function checkStore(
  { engine, records, blobs }: { engine: SqliteEngine; records: RecordStore; blobs: EmbeddedBlobs },
  onTurn: (done: number, total: number) => void = () => {},
): Promise<StoreCheck> {
  const ids = await engine.db.selectFrom("turns").select("id").orderBy("id").execute();
  const check: StoreCheck = { turns: ids.length, blobs: 0, damaged: [] };
  const known = new Set<number>();
  const add = async (key: string, missing: string): Promise<void> => {
    const { bytes, fault } = await blobs.check(key, known);
    if (bytes !== null) check.blobs += 1;
    if (fault !== null) check.damaged.push({ name: key, why: `cannot be read: ${fault}` });
    else if (bytes === null) check.damaged.push({ name: key, why: missing });
  };
  const loose = new Set(await blobs.looseKeys());
  for (const [index, { id }] of ids.entries()) {
    try {
      for (const key of await records.purges.blobKeysOf(id)) {
        loose.delete(key);
        await add(key, `is missing; the turn ${id} needs it`);
      }
    } catch (error) {
      check.damaged.push({ name: folderOf(id), why: `cannot be read: ${failureOf(error).message}` });
    }
    onTurn(index + 1, ids.length);
  }
  for (const key of loose) await add(key, "is missing");
  return check;
}
