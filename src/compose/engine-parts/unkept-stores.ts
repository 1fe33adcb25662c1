/** Stores in memory for turns whose content is not kept (O3). */
import { memoryBlobs } from "../../blobs/memory/memory-blobs.ts";
import type { UnkeptStores } from "../../engine/dependencies.ts";
import { memoryEventLog } from "../../live/memory/memory-event-log.ts";
import { memoryRecords } from "../../records/memory/memory-records.ts";
import { lazyDocuments } from "../lazy-retrievers.ts";

export function unkeptStores(): UnkeptStores {
  return { records: memoryRecords(), blobs: memoryBlobs(), log: memoryEventLog(), documents: lazyDocuments() };
}
