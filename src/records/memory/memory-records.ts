/**
 * Records in memory: the store for tests, and for whoever embeds aptove and needs no history after the
 * process. A method runs from its first to its last line without waiting, so each is a transaction by itself.
 */
import type { RecordStore } from "../record-store.ts";
import { contextRecords } from "./contexts.ts";
import { auditRecords } from "./audit.ts";
import { deviceRecords } from "./devices.ts";
import { limitRecords } from "./limits.ts";
import { importRecords } from "./imports.ts";
import { mailboxRecords } from "./mailbox.ts";
import { peopleRecords } from "./people.ts";
import { emptyRows, type Rows } from "./rows.ts";
import { runRecords } from "./runs.ts";
import { searchRecords } from "./search.ts";
import { sessionRecords } from "./sessions.ts";
import { treeRecords } from "./tree.ts";
import { turnRecords } from "./turns.ts";

const blobStore = "blob_store";

/** An empty store. Its data ends with it. `now` is the clock by which leases run out (R1). */
export function memoryRecords({ now = Date.now }: { now?: () => number } = {}): RecordStore {
  const rows = emptyRows();
  const methods = isolated({
    ...sessionRecords(rows),
    ...turnRecords(rows, now),
    ...mailboxRecords(rows),
    ...treeRecords(rows),
    ...searchRecords(rows),
    ...runRecords(rows),
    ...peopleRecords(rows),
    ...deviceRecords(rows),
    ...limitRecords(rows, now),
    ...contextRecords(rows),
    ...auditRecords(rows),
    claimBlobStore: (id: string) => Promise.resolve(rows.storeFacts.getOrInsert(blobStore, id)),
    blobStoreId: () => Promise.resolve(rows.storeFacts.get(blobStore) ?? null),
    about: () => Promise.resolve({ product: "memory", version: 0, known: 0, oldest: 0 }),
    size: () => Promise.resolve(bytesOf(rows)),
    close: () => Promise.resolve(),
  });
  return { ...methods, ...importRecords(rows) };
}

function bytesOf(rows: Rows): number {
  return Buffer.byteLength(JSON.stringify(Object.values(rows).flatMap((table) => [...table.values()])));
}

/** Copies what goes in and what comes out: nobody holds a row of the store. */
function isolated<T extends object>(methods: T): T {
  const copying = Object.entries(methods).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    async (...args: unknown[]) => structuredClone(await method(...structuredClone(args))),
  ]);
  return Object.fromEntries(copying) as T;
}
