/**
 * The live log and the wake-ups of several servers on one PostgreSQL: a table for the events (docs/formats/live.md),
 * notifications for the news of them, and polling behind those. `pg` is loaded when it is opened.
 *
 * Its connections are its own: a turn's events do not wait behind the queries of the records, nor they behind it.
 */
import { storageFault } from "../../domain/storage-fault.ts";
import { limits } from "../../domain/limits.ts";
import { asLibpq } from "../../system/postgres-url.ts";
import { News, readNews } from "../news.ts";
import { checkTopic, Subscribers, type Live } from "../wake-ups.ts";
import { Listening } from "./listening.ts";
import { LiveTable, newsChannel, wakeChannel } from "./live-table.ts";
import { PostgresEventLog } from "./postgres-event-log.ts";

export interface PostgresLiveOptions {
  /** As libpq takes it, `sslmode` and the files of certificates included. */
  url: string;
  /** Where the table is; it must be there. Absent: where the user's search path says. */
  schema?: string;
  /** Until when a connection must be had, and after what silence the system asks whether the other side is there. */
  connectMs?: number;
  keepAliveMs?: number;
  /** What `pg_stat_activity` shows, with " live" behind it. */
  applicationName?: string;
  report(message: string, error?: unknown): void;
}

/** One writes, one reads, and one for all else. */
const connectionsMax = 3;

/** Makes the table where it is not there. Throws `storage_failed`. */
export async function openPostgresLive({ url, schema, report, ...given }: PostgresLiveOptions): Promise<Live> {
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
  // An idle connection broke: the pool has dropped it.
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
  const news = new News();
  const sleepers = new Subscribers();
  const listening = new Listening({
    settings,
    channels: [newsChannel, wakeChannel],
    onMessage: (channel, payload) => {
      if (channel === wakeChannel) sleepers.wake(payload);
      else news.tellAll(readNews(payload));
    },
    onMissed: () => {
      news.tellMissed();
      sleepers.wakeAll();
    },
    report,
  });
  const close = async (): Promise<void> => {
    sleepers.clear();
    await listening.close();
    await pool.end();
  };
  return {
    log: new PostgresEventLog({ table, news, listening, close }),
    wakeUps: {
      send(topic) {
        checkTopic(topic);
        table.wake(topic).catch(() => undefined);
      },
      on(topic, wake) {
        listening.start();
        return sleepers.add(topic, wake);
      },
      isConnected: () => listening.isConnected,
    },
  };
}
