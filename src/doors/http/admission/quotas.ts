/** The limits of one user and key: requests per minute, and concurrent turns (H5). */
import { runsTheServer, type Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";

/** If there are more buckets, the full ones are deleted, so that the table stays small over months. */
const bucketsMax = 10_000;
const minuteMs = 60_000;

/** A token bucket per user. It holds the requests of one minute and refills evenly. */
export class RequestRates {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  readonly #perMinute: number;
  readonly #now: () => number;

  constructor(perMinute: number, now: () => number) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  /** Takes one token of the user. Throws `rate_limited` with the seconds to wait. */
  take(userId: string): void {
    const now = this.#now();
    if (this.#buckets.size >= bucketsMax) this.#forgetFull(now);
    const tokens = this.#refilled(this.#buckets.get(userId), now);
    if (tokens < 1) {
      const retryAfterSeconds = Math.ceil((((1 - tokens) / this.#perMinute) * minuteMs) / 1_000);
      throw new AptoveError("rate_limited", `the limit is ${this.#perMinute} requests per minute`, {
        facts: { limitPerMinute: this.#perMinute, retryAfterSeconds },
      });
    }
    this.#buckets.set(userId, { tokens: tokens - 1, at: now });
  }

  #refilled(bucket: { tokens: number; at: number } | undefined, now: number): number {
    if (bucket === undefined) return this.#perMinute;
    const gained = (Math.max(0, now - bucket.at) / minuteMs) * this.#perMinute;
    return Math.min(this.#perMinute, bucket.tokens + gained);
  }

  #forgetFull(now: number): void {
    for (const [userId, bucket] of this.#buckets) {
      if (this.#refilled(bucket, now) >= this.#perMinute) this.#buckets.delete(userId);
    }
  }
}

export interface RunSlotLimits {
  concurrentRunsPerUserMax: number;
  /** The limit of those who run the server. Null: there is none. */
  concurrentRunsOfOwnerMax: number | null;
}

/** Counts the concurrent turns of each user, and of each key that has a limit of its own (O4). */
export class RunSlots {
  readonly #running = new Map<string, number>();
  readonly #limits: RunSlotLimits;

  constructor(limits: RunSlotLimits) {
    this.#limits = limits;
  }

  /** Takes a slot, and returns the function that frees it. Only its first call counts. Throws `runs_limited`. */
  take(caller: Caller): () => void {
    const { userId, keyId, keyLimits } = caller;
    const { concurrentRunsOfOwnerMax, concurrentRunsPerUserMax } = this.#limits;
    const ofUser = runsTheServer(caller) ? concurrentRunsOfOwnerMax : concurrentRunsPerUserMax;
    const ofKey = keyLimits?.concurrentRunsMax ?? null;
    this.#refuse(userId, { limit: ofUser, whose: "of your turns" });
    if (keyId !== undefined) this.#refuse(keyId, { limit: ofKey, whose: "turns of your key" });
    const counted = [userId, ...(keyId === undefined || ofKey === null ? [] : [keyId])];
    for (const id of counted) this.#running.set(id, (this.#running.get(id) ?? 0) + 1);
    let isFree = false;
    return () => {
      if (isFree) return;
      isFree = true;
      for (const id of counted) this.#free(id);
    };
  }

  #refuse(id: string, { limit, whose }: { limit: number | null; whose: string }): void {
    const running = this.#running.get(id) ?? 0;
    if (limit === null || running < limit) return;
    const detail = `${running} ${whose} are running, and the limit is ${limit}; wait for one or interrupt it`;
    throw new AptoveError("runs_limited", detail, { facts: { limit, retryAfterSeconds: 1 } });
  }

  #free(id: string): void {
    const left = (this.#running.get(id) ?? 1) - 1;
    if (left === 0) this.#running.delete(id);
    else this.#running.set(id, left);
  }
}
