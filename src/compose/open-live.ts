/** Opens the log for the events of running turns, and the wake-ups between processes. Both reach every process that shares the records. */
import type { EventLog } from "../live/event-log.ts";
import { memoryCache } from "../live/memory/memory-cache.ts";
import type { SharedCache } from "../live/shared-cache.ts";
import type { WakeUps } from "../live/wake-ups.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import { isReadOnlyFolder, readOnlyLog } from "./data-folder/read-only-folder.ts";
import type { StoreOptions } from "./options.ts";

export interface LiveRequest {
  /** The parts that the caller gives. */
  given: Pick<StoreOptions, "log" | "wakeUps" | "cache">;
  configuration: Configuration;
  folder: DataFolder;
  report(message: string, error?: unknown): void;
}

export interface LiveParts {
  log: EventLog;
  wakeUps?: WakeUps;
  cache: SharedCache;
}

/** Opens the log in Redis if one is configured. Behind it, or without it, the events are where the records are: in PostgreSQL or in the data folder. */
export async function openLive(request: LiveRequest): Promise<LiveParts> {
  const { log, wakeUps, cache } = request.given;
  const own = { ...(wakeUps !== undefined && { wakeUps }), ...(cache !== undefined && { cache }) };
  if (log !== undefined) return { log, cache: memoryCache(), ...own };
  const behind = await openShared(request);
  const url = request.configuration.live.redis;
  if (url === null) return { ...behind, cache: memoryCache(), ...own };
  const { openRedisLive } = await import("../live/redis/redis-live.ts");
  return { ...openRedisLive({ url, behind, report: request.report }), ...own };
}

async function openShared({
  configuration,
  folder,
  report,
}: LiveRequest): Promise<{ log: EventLog; wakeUps?: WakeUps }> {
  const { url, connectMs, keepAliveMs, applicationName } = configuration.records;
  if (url === null) {
    const { fileEventLog } = await import("../live/files/file-event-log.ts");
    const log = fileEventLog({ folder: folder.live });
    return { log: isReadOnlyFolder(folder) ? readOnlyLog(log) : log };
  }
  const { openPostgresLive } = await import("../live/postgres/postgres-live.ts");
  return await openPostgresLive({ url, connectMs, keepAliveMs, applicationName, report });
}

/** Returns null if a Redis server at this address answers and accepts the name and the password, or else what is wrong. */
export async function findRedisFault(url: string): Promise<string | null> {
  return await (await import("../live/redis/probe-redis.ts")).probeRedis(url);
}
