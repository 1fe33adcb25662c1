/**
 * The contract for wake-ups between the processes of one store: "look now", and nothing else. What there is to
 * see stands in the records or the live log, so a wake-up may be lost, doubled or late, and nothing is wrong: it
 * only makes quick what polling makes sure (R3).
 *
 * What a driver must do:
 * - `send` returns at once and never throws: what cannot be sent is lost.
 * - A send reaches every process that hears, this one too, and everybody in it who asked for the topic.
 * - Whenever sends may have been missed (a connection came back) everybody is woken.
 * - It ends with the live log that it came with.
 */
import { AptoveError } from "../domain/errors.ts";
import type { EventLog } from "./event-log.ts";

export interface WakeUps {
  /** `topic`: up to 100 of `a-z`, `0-9`, `-`, `:` and `/`. Throws `storage_failed` for another. */
  send(topic: string): void;
  /** Calls `wake` at each send. It must neither throw nor do anything long. Gives what ends it. */
  on(topic: string, wake: () => void): () => void;
  /** Whether what other processes send arrives here now. While it does not, look often; while it does, now and then. */
  isConnected(): boolean;
}

/** What is sent, and when. */
export const wakeTopics = {
  /** A runner has controls to take (R3). */
  controls: (runnerId: string): string => `controls/${runnerId}`,
  /** A key was made, changed or revoked (H4, P3). */
  keys: "keys",
} as const;

/** What a driver for several servers gives. */
export interface Live {
  log: EventLog;
  wakeUps: WakeUps;
}

/** For drivers. */
export function checkTopic(topic: string): void {
  if (!/^[a-z0-9:/-]{1,100}$/.test(topic)) {
    throw new AptoveError("storage_failed", `${JSON.stringify(topic)} is not a topic of wake-ups`);
  }
}

/** Who wants to be woken at what in this process: the part that drivers have in common. */
export class Subscribers {
  readonly #byTopic = new Map<string, Set<() => void>>();

  add(topic: string, wake: () => void): () => void {
    checkTopic(topic);
    const sleepers = this.#byTopic.get(topic) ?? new Set();
    // One of its own for each call, so that the same function may be added twice.
    const own = (): void => wake();
    this.#byTopic.set(topic, sleepers.add(own));
    return () => {
      sleepers.delete(own);
      if (sleepers.size === 0 && this.#byTopic.get(topic) === sleepers) this.#byTopic.delete(topic);
    };
  }

  wake(topic: string): void {
    for (const wake of this.#byTopic.get(topic) ?? []) wake();
  }

  wakeAll(): void {
    for (const topic of this.#byTopic.keys()) this.wake(topic);
  }

  clear(): void {
    this.#byTopic.clear();
  }
}
