/**
 * The live log and the wake-ups of several servers on one Redis, before a log that keeps what Redis may lose
 * (docs/formats/live.md). `@redis/client` is loaded when it is opened. Opening waits for nothing: a server starts
 * without Redis, and takes it when it is there.
 */
import type { EventLog } from "../event-log.ts";
import { News, readNews } from "../news.ts";
import { checkTopic, Subscribers, type Live, type WakeUps } from "../wake-ups.ts";
import { Connection } from "./connection.ts";
import { RedisEventLog } from "./redis-event-log.ts";
import { newsChannel, Streams, wakeChannel } from "./streams.ts";

export interface RedisLiveOptions {
  /** `redis://[user][:password]@host:port[/database]`, or `rediss://` with TLS. */
  url: string;
  /** Closed with it. */
  behind: { log: EventLog; wakeUps?: WakeUps };
  report(message: string, error?: unknown): void;
}

export function openRedisLive({ url, behind, report }: RedisLiveOptions): Live {
  const news = new News();
  const sleepers = new Subscribers();
  const connection = new Connection({
    url,
    channels: [newsChannel, wakeChannel],
    onMessage: (channel, message) => {
      if (channel === wakeChannel) sleepers.wake(message);
      else news.tellAll(readNews(message));
    },
    onMissed: () => {
      news.tellMissed();
      sleepers.wakeAll();
    },
    report,
  });
  const streams = new Streams(connection);
  return {
    log: new RedisEventLog({ connection, streams, news, behind: behind.log, report }),
    wakeUps: {
      // Both ways: either may be away, and a wake-up that comes twice does no harm.
      send(topic) {
        checkTopic(topic);
        behind.wakeUps?.send(topic);
        streams.wake(topic).catch(() => undefined);
      },
      on(topic, wake) {
        const ends = [sleepers.add(topic, wake), behind.wakeUps?.on(topic, wake)];
        return () => {
          for (const end of ends) end?.();
        };
      },
      isConnected: () => connection.isConnected || behind.wakeUps?.isConnected() === true,
    },
  };
}
