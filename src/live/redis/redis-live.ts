/**
 * The live log and the wake-ups of several servers on one Redis, in front of a log that keeps what Redis may lose
 * (docs/formats/live.md). `@redis/client` is loaded when it is opened. Opening waits for nothing: a server starts without Redis,
 * and uses it once it is reachable.
 */
import type { EventLog } from "../event-log.ts";
import { TurnProgressTracker, readTurnProgress } from "../turn-progress.ts";
import { checkTopic, WakeUpSubscribers, type LiveStore, type WakeUps } from "../wake-ups.ts";
import type { SharedCache } from "../shared-cache.ts";
import { redisCache } from "./redis-cache.ts";
import { RedisConnection } from "./redis-connection.ts";
import { RedisEventLog } from "./redis-event-log.ts";
import { redisProgressChannel, TurnStreams, redisWakeChannel } from "./turn-streams.ts";

export interface RedisLiveOptions {
  /** The address: `redis://[user][:password]@host:port[/database]`, or `rediss://` with TLS. */
  url: string;
  /** The log and wake-ups behind Redis. They are closed together with it. */
  behind: { log: EventLog; wakeUps?: WakeUps };
  report(message: string, error?: unknown): void;
}

export function openRedisLive({ url, behind, report }: RedisLiveOptions): LiveStore & { cache: SharedCache } {
  const progress = new TurnProgressTracker();
  const subscribers = new WakeUpSubscribers();
  const connection = new RedisConnection({
    url,
    channels: [redisProgressChannel, redisWakeChannel],
    onMessage: (channel, message) => {
      if (channel === redisWakeChannel) subscribers.wake(message);
      else progress.reportAll(readTurnProgress(message));
    },
    onMissed: () => {
      progress.reportMissed();
      subscribers.wakeAll();
      void streams.dropLeft();
    },
    report,
  });
  const streams = new TurnStreams(connection);
  return {
    cache: redisCache(connection),
    log: new RedisEventLog({ connection, streams, progress, behind: behind.log, report }),
    wakeUps: {
      // The wake-up is sent both ways: either may be unreachable, and a doubled wake-up does no harm.
      send(topic) {
        checkTopic(topic);
        behind.wakeUps?.send(topic);
        streams.wake(topic).catch(() => undefined);
      },
      on(topic, wake) {
        const ends = [subscribers.add(topic, wake), behind.wakeUps?.on(topic, wake)];
        return () => {
          for (const end of ends) end?.();
        };
      },
      isConnected: () => connection.isConnected || behind.wakeUps?.isConnected() === true,
    },
  };
}
