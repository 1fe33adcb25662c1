/**
 * The live log and the wake-ups of several servers on one PostgreSQL: a table for the events (docs/formats/live.md),
 * notifications for new events, and polling in case a notification is lost. `pg` is loaded when it is opened.
 *
 * It has connections of its own: a turn's events do not wait for the queries of the records, nor the other way round.
 */
import { storageFault } from "../../domain/storage-fault.ts";
import { limits } from "../../domain/limits.ts";
import { asLibpq } from "../../system/addresses/postgres-url.ts";
import { TurnProgressTracker, readTurnProgress } from "../turn-progress.ts";
import { checkTopic, WakeUpSubscribers, type LiveStore } from "../wake-ups.ts";
import { PostgresListener } from "./postgres-listener.ts";
import { LiveTable, postgresProgressChannel, postgresWakeChannel } from "./live-table.ts";
import { PostgresEventLog } from "./postgres-event-log.ts";

export interface PostgresLiveOptions {
  /** The connection URL in libpq's form, including `sslmode` and the certificate files. */
  url: string;
  /** The schema of the table; it must exist. Absent: the user's search path decides. */
  schema?: string;
  /** The timeout of a connection, and the silence after which the system checks the other side, in milliseconds. */
  connectMs?: number;
  keepAliveMs?: number;
  /** The name in `pg_stat_activity`, where " live" is added to it. */
  applicationName?: string;
  report(message: string, error?: unknown): void;
}

/** The maximum number of connections: one for writing, one for reading, and one for everything else. */
const connectionsMax = 3;

/** Opens the log and creates its table if it does not exist. Throws `storage_failed`. */
export async function openPostgresLive({ url, schema, report, ...given }: PostgresLiveOptions): Promise<LiveStore> {
  const { default: pg } = await import("pg");
  const settings = {
    connectionString: asLibpq(url),
    connectionTimeoutMillis: given.connectMs ?? limits.recordsConnectMs,
    query_timeout: limits.liveAnswerMsMax,
    keepAlive: true,
    keepAliveInitialDelayMillis: given.keepAliveMs ?? limits.recordsKeepAliveMs,
    application_name: `${given.applicationName ?? "aptove"} live`,
  };
  const pool = new pg.Pool({ ...settings, max: connectionsMax });
  // An idle connection broke, and the pool has removed it.
  pool.on("error", () => undefined);
  const table = new LiveTable(
    pool,
    schema === undefined ? "live_events" : `${pg.escapeIdentifier(schema)}.live_events`,
  );
  try {
    await table.make();
  } catch (error) {
    await pool.end();
    throw storageFault("the live log in PostgreSQL could not be opened", error);
  }
  const progress = new TurnProgressTracker();
  const subscribers = new WakeUpSubscribers();
  const listener = new PostgresListener({
    settings,
    channels: [postgresProgressChannel, postgresWakeChannel],
    onMessage: (channel, payload) => {
      if (channel === postgresWakeChannel) subscribers.wake(payload);
      else progress.reportAll(readTurnProgress(payload));
    },
    onMissed: () => {
      progress.reportMissed();
      subscribers.wakeAll();
    },
    report,
  });
  const close = async (): Promise<void> => {
    subscribers.clear();
    await listener.close();
    await pool.end();
  };
  return {
    log: new PostgresEventLog({ table, progress, listener, close }),
    wakeUps: {
      send(topic) {
        checkTopic(topic);
        table.wake(topic).catch(() => undefined);
      },
      on(topic, wake) {
        listener.start();
        return subscribers.add(topic, wake);
      },
      isConnected: () => listener.isConnected,
    },
  };
}
