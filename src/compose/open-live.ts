/** Where the events of running turns go, and how processes wake each other: as far as the turns themselves reach. */
import type { EventLog } from "../live/event-log.ts";
import type { WakeUps } from "../live/wake-ups.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { DataFolder } from "../configuration/data-folder.ts";

export interface LiveRequest {
  /** What the caller has of it. */
  brought: { log?: EventLog; wakeUps?: WakeUps };
  configuration: Configuration;
  folder: DataFolder;
  report(message: string, error?: unknown): void;
}

/** In Redis where there is one; behind it, or alone: with the records in PostgreSQL, or in the data folder. */
export async function openLive(request: LiveRequest): Promise<{ log: EventLog; wakeUps?: WakeUps }> {
  const { log, ...wakeUps } = request.brought;
  if (log !== undefined) return { log, ...wakeUps };
  const behind = await openBehind(request);
  const url = request.configuration.live.redis;
  if (url === null) return { ...behind, ...wakeUps };
  const { openRedisLive } = await import("../live/redis/redis-live.ts");
  return { ...openRedisLive({ url, behind, report: request.report }), ...wakeUps };
}

async function openBehind({
  configuration,
  folder,
  report,
}: LiveRequest): Promise<{ log: EventLog; wakeUps?: WakeUps }> {
  const { url, connectMs, keepAliveMs, applicationName } = configuration.records;
  if (url === null) {
    const { fileEventLog } = await import("../live/files/file-event-log.ts");
    return { log: fileEventLog({ folder: folder.live }) };
  }
  const { openPostgresLive } = await import("../live/postgres/postgres-live.ts");
  return await openPostgresLive({ url, connectMs, keepAliveMs, applicationName, report });
}

/** Null: a Redis server answers at the address, and takes its name and password; else what is wrong. */
export async function redisFault(url: string): Promise<string | null> {
  return await (await import("../live/redis/probe-redis.ts")).probeRedis(url);
}
