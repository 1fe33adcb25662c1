/**
 * The contract for wake-ups between the processes of one store. A wake-up says only "look now". The data itself is in the
 * records or the live log, so a wake-up may be lost, doubled or late without harm: it makes fast what polling makes sure (R3).
 *
 * A driver must do the following.
 * - `send` returns at once and never throws. A wake-up that cannot be sent is lost.
 * - A wake-up reaches every connected process, the sender's too, and every subscriber of the topic in it.
 * - Whenever wake-ups may have been missed (a connection was restored), all subscribers are woken.
 * - It is closed together with the live log of the same driver.
 */
import { AptoveError } from "../domain/errors.ts";
import type { EventLog } from "./event-log.ts";

export interface WakeUps {
  /** Sends a wake-up. `topic` has up to 100 of `a-z`, `0-9`, `-`, `:` and `/`. Throws `storage_failed` for anything else. */
  send(topic: string): void;
  /** Calls `wake` at each wake-up of the topic. `wake` must neither throw nor take long. Returns a function that ends the subscription. */
  on(topic: string, wake: () => void): () => void;
  /** Returns whether wake-ups from other processes arrive now. While they do not, poll often; while they do, poll rarely. */
  isConnected(): boolean;
}

/** The topics, and when they are sent. */
export const wakeTopics = {
  /** A runner has controls to take (R3). */
  controls: (runnerId: string): string => `controls/${runnerId}`,
  /** A key was made, changed or revoked (H4, P3). */
  keys: "keys",
  /** A session was made private, or a user was dismissed from one (H4). */
  access: "access",
  /** Sessions of an org changed, or what waits in them for a person (U3, U8). */
  sessions: (orgId: string): string => `sessions/${orgId}`,
} as const;

/** The result of opening a driver for several servers. */
export interface LiveStore {
  log: EventLog;
  wakeUps: WakeUps;
}

/** Throws `storage_failed` if the text is not a topic. Every driver calls it. */
export function checkTopic(topic: string): void {
  if (!/^[a-z0-9:/-]{1,100}$/.test(topic)) {
    throw new AptoveError("storage_failed", `${JSON.stringify(topic)} is not a topic of wake-ups`);
  }
}

/** The subscribers in this process, by topic. All drivers share this part. */
export class WakeUpSubscribers {
  readonly #byTopic = new Map<string, Set<() => void>>();

  add(topic: string, wake: () => void): () => void {
    checkTopic(topic);
    const subscribers = this.#byTopic.get(topic) ?? new Set();
    // A new function for each call, so that the same one may be added twice.
    const own = (): void => wake();
    this.#byTopic.set(topic, subscribers.add(own));
    return () => {
      subscribers.delete(own);
      if (subscribers.size === 0 && this.#byTopic.get(topic) === subscribers) this.#byTopic.delete(topic);
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
