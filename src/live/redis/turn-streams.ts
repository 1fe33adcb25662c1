/**
 * The streams in Redis: one for each running turn, one entry for each event, under the number of the event (`57-0`). So an entry
 * that is added twice is stored once, and a position is found without reading the entries before it. A stream may lack its
 * beginning, or have a gap from a time when Redis was unreachable. The log behind has the missing events. In place of a dropped
 * stream there is a text: no event can be added to it that a process sent earlier, and that arrives later.
 */
import { streamKey, type SequencedEvent, type TurnEvent } from "../../domain/events.ts";
import { limits } from "../../domain/limits.ts";
import { Batcher } from "../batcher.ts";
import type { MayWrite } from "../event-log.ts";
import type { RedisConnection } from "./redis-connection.ts";

export const redisProgressChannel = "aptove:live";
export const redisWakeChannel = "aptove:wake";

/** Events of one turn that follow those up to `previousSeq`. */
export interface StreamEntries {
  turnId: string;
  previousSeq: number;
  events: readonly TurnEvent[];
  mayWrite: MayWrite | undefined;
}

const eventField = "event";
const batchMax = { countMax: 500, weightMax: 10_000 };
/** How many drops are remembered while Redis is unreachable. The streams of others expire. */
const undroppedMax = 4_096;

export class TurnStreams {
  readonly #connection: RedisConnection;
  readonly #appends: Batcher<StreamEntries, boolean>;
  /** The turns whose stream could not be dropped yet. */
  readonly #undropped = new Set<string>();

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#appends = new Batcher((batch) => this.#append(batch), batchMax);
  }

  /**
   * Adds the events and notifies every process. Returns true if the events follow those before them without a gap, and false if
   * an earlier event is missing or not all could be added. Rejects if Redis is unreachable.
   */
  async append(entries: StreamEntries): Promise<boolean> {
    return await this.#appends.add(entries, entries.events.length);
  }

  /** Sends all commands in one go, but not in a transaction: Redis 7 garbles a message to the own connection inside one. */
  async #append(batch: readonly StreamEntries[]): Promise<boolean[]> {
    return await this.#connection.ask(async (client) => {
      const added = batch.map(async ({ turnId, previousSeq, events, mayWrite }) => {
        // The entries may have waited for the batch before them. Meanwhile their turn may be lost.
        if (mayWrite?.() === false) return false;
        const key = streamKey(turnId);
        const [last] = await Promise.all([
          client.xRevRange(key, "+", "-", { COUNT: 1 }),
          ...events.map((event, at) => {
            return client.xAdd(key, `${previousSeq + at + 1}-0`, { [eventField]: JSON.stringify(event) }, trim);
          }),
          client.pExpire(key, limits.redisKeepMs),
        ]);
        return Number(last?.[0]?.id.split("-")[0] ?? 0) === previousSeq;
      });
      const progress = batch.map(({ turnId, previousSeq, events }) => `${turnId}:${previousSeq + events.length}`);
      const notified = client.publish(redisProgressChannel, progress.join(","));
      const [results] = await Promise.all([Promise.allSettled(added), notified]);
      return results.map((result) => result.status === "fulfilled" && result.value);
    });
  }

  /** Returns the events after a position, up to the first gap. Null if there is no stream. Rejects if Redis is unreachable. */
  async read(turnId: string, afterSeq: number): Promise<SequencedEvent[] | null> {
    const from = Math.max(0, afterSeq);
    const [found, type] = await this.#connection.ask(async (client) => {
      const key = streamKey(turnId);
      const entries = client.xRange(key, `${from + 1}-0`, "+", { COUNT: limits.redisReadEntriesMax });
      // Redis refuses the range of a dropped stream.
      return await Promise.all([entries.catch(() => null), client.type(key)]);
    });
    if (type !== "stream") return null;
    const events: SequencedEvent[] = [];
    for (const { id, message } of found ?? []) {
      const seq = from + events.length + 1;
      if (id !== `${seq}-0`) break;
      events.push({ seq, event: JSON.parse(message[eventField] ?? "") as TurnEvent });
    }
    return events;
  }

  /** Drops the stream, now or when Redis is reachable again: it may have events that the end of its turn does not. Never rejects. */
  async drop(turnId: string): Promise<void> {
    try {
      await this.#connection.ask(async (client) => {
        const end = client.set(streamKey(turnId), "", { expiration: { type: "PX", value: limits.redisDroppedKeepMs } });
        await Promise.all([end, client.publish(redisProgressChannel, `${turnId}:`)]);
      });
      this.#undropped.delete(turnId);
    } catch {
      if (this.#undropped.size < undroppedMax) this.#undropped.add(turnId);
    }
  }

  /** Drops what could not be dropped while Redis was unreachable. */
  async dropLeft(): Promise<void> {
    await Promise.all([...this.#undropped].map((turnId) => this.drop(turnId)));
  }

  async wake(topic: string): Promise<void> {
    await this.#connection.ask((client) => client.publish(redisWakeChannel, topic));
  }
}

const trim = {
  TRIM: { strategy: "MAXLEN", strategyModifier: "~", threshold: limits.redisEntriesMax },
} as const;
