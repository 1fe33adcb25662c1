/** The stores of a world's processes: in memory, in one SQLite file, or in SQLite and files. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BlobStore } from "../../src/blobs/blob-store.ts";
import { compressedBlobs } from "../../src/blobs/compressed-blobs.ts";
import { openEmbeddedStore } from "../../src/embedded/embedded-store.ts";
import { fileBlobs } from "../../src/blobs/files/file-blobs.ts";
import { memoryBlobs } from "../../src/blobs/memory/memory-blobs.ts";
import type { EventLog } from "../../src/live/event-log.ts";
import { fileEventLog } from "../../src/live/files/file-event-log.ts";
import { memoryEventLog } from "../../src/live/memory/memory-event-log.ts";
import { memoryRecords } from "../../src/records/memory/memory-records.ts";
import type { TurnStore } from "../../src/records/turn-store.ts";
import type { RecordStore } from "../../src/records/record-store.ts";
import { openSqliteRecords } from "../../src/records/sql/sqlite/sqlite.ts";

export const storeKinds = ["memory", "embedded", "files"] as const;
export type StoreKind = (typeof storeKinds)[number];

export interface Stores {
  records: RecordStore;
  blobs: BlobStore;
  turnStore?: TurnStore;
  log: EventLog;
}

/** The stores that all processes of a world share. */
export interface StorePlace {
  /** Opens the stores for a process. */
  open(): Promise<Stores>;
  close(): Promise<void>;
}

/** `now`: the clock of the stores. */
export async function storePlace(kind: StoreKind, now: () => number): Promise<StorePlace> {
  return kind === "memory" ? inMemory(now) : await inFolder(kind, now);
}

function inMemory(now: () => number): StorePlace {
  const stores: Stores = { records: memoryRecords({ now }), blobs: memoryBlobs(), log: memoryEventLog() };
  return { open: async () => stores, close: async () => {} };
}

async function inFolder(kind: StoreKind, now: () => number): Promise<StorePlace> {
  const folder = await mkdtemp(join(tmpdir(), "aptove-simulation-"));
  const opened: Stores[] = [];
  return {
    open: async () => {
      const log = fileEventLog({ folder: join(folder, "live") });
      const file = join(folder, "records.db");
      const stores: Stores =
        kind === "embedded"
          ? { ...(await openEmbeddedStore({ file, now })), log }
          : {
              records: await openSqliteRecords({ file, now }),
              blobs: compressedBlobs(fileBlobs({ folder: join(folder, "blobs") })),
              log,
            };
      opened.push(stores);
      return stores;
    },
    close: async () => {
      for (const { records, log } of opened) await Promise.all([records.close(), log.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
