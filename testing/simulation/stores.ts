/** The stores of a world's processes: in memory, or in SQLite and files as in a data folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BlobStore } from "../../src/blobs/blob-store.ts";
import { compressedBlobs } from "../../src/blobs/compressed-blobs.ts";
import { fileBlobs } from "../../src/blobs/files/file-blobs.ts";
import { memoryBlobs } from "../../src/blobs/memory/memory-blobs.ts";
import type { EventLog } from "../../src/live/event-log.ts";
import { fileEventLog } from "../../src/live/files/file-event-log.ts";
import { memoryEventLog } from "../../src/live/memory/memory-event-log.ts";
import { memoryRecords } from "../../src/records/memory/memory-records.ts";
import type { RecordStore } from "../../src/records/record-store.ts";
import { openSqliteRecords } from "../../src/records/sql/sqlite/sqlite.ts";

export type StoreKind = "memory" | "sqlite";

export interface Stores {
  records: RecordStore;
  blobs: BlobStore;
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
  return kind === "memory" ? inMemory(now) : await inFolder(now);
}

function inMemory(now: () => number): StorePlace {
  const stores: Stores = { records: memoryRecords({ now }), blobs: memoryBlobs(), log: memoryEventLog() };
  return { open: async () => stores, close: async () => {} };
}

async function inFolder(now: () => number): Promise<StorePlace> {
  const folder = await mkdtemp(join(tmpdir(), "aptove-simulation-"));
  const opened: Stores[] = [];
  return {
    open: async () => {
      const stores: Stores = {
        records: await openSqliteRecords({ file: join(folder, "records.db"), now }),
        blobs: compressedBlobs(fileBlobs({ folder: join(folder, "blobs") })),
        log: fileEventLog({ folder: join(folder, "live") }),
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
