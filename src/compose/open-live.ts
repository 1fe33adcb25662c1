/** Where the events of running turns go, and how processes wake each other: as far as the turns themselves reach. */
import type { EventLog } from "../live/event-log.ts";
import type { WakeUps } from "../live/wake-ups.ts";
import type { Configuration } from "../workspace/configuration.ts";
import type { DataFolder } from "../workspace/data-folder.ts";

export interface LiveRequest {
  /** What the caller has of it. */
  brought: { log?: EventLog; wakeUps?: WakeUps };
  configuration: Configuration;
  folder: DataFolder;
  report(message: string, error?: unknown): void;
}

/** In the data folder, or with the records in PostgreSQL. */
export async function openLive({
  brought,
  configuration,
  folder,
  report,
}: LiveRequest): Promise<{ log: EventLog; wakeUps?: WakeUps }> {
  const { log, ...wakeUps } = brought;
  if (log !== undefined) return { log, ...wakeUps };
  const { url } = configuration.records;
  if (url === null) {
    const { fileEventLog } = await import("../live/files/file-event-log.ts");
    return { log: fileEventLog({ folder: folder.live }), ...wakeUps };
  }
  const { openPostgresLive } = await import("../live/postgres/postgres-live.ts");
  return { ...(await openPostgresLive({ url, report })), ...wakeUps };
}
