/**
 * Counts the requests of one user or org in a minute, in the records. This server reserves a part of the minute's
 * requests at once and uses it up, so that the sum over all servers holds, and most requests need no query. What was
 * reserved and not used expires with the minute.
 */
import { AptoveError } from "../../domain/errors.ts";
import type { RateTaken, RecordStore } from "../../records/record-store.ts";

const windowMs = 60_000;
/** The number of parts in which the requests of a minute are reserved. If there are few, each is reserved alone. */
const partsPerWindow = 60;

type LimitedBy = "key" | "user" | "org";
const whose: Record<LimitedBy, string> = { key: " of your key", user: "", org: " of your org" };

export class RateWindow {
  readonly #records: Pick<RecordStore, "limits">;
  readonly #scope: string;
  readonly #of: LimitedBy;
  /** The reserved requests that are left. They are valid until `#endsAt`. */
  #left = 0;
  #endsAt = 0;
  /** The time until which nothing can be reserved. */
  #closedUntil = 0;
  #taking: Promise<void> | null = null;

  constructor(records: Pick<RecordStore, "limits">, { scope, of }: { scope: string; of: LimitedBy }) {
    this.#records = records;
    this.#scope = scope;
    this.#of = of;
  }

  /** Takes one request. Throws `rate_limited` with the number of seconds to wait. */
  async take(max: number): Promise<void> {
    for (;;) {
      const now = performance.now();
      if (now < this.#endsAt && this.#left > 0) {
        this.#left -= 1;
        return;
      }
      if (now < this.#closedUntil) throw this.#refusal(max, this.#closedUntil - now);
      // Requests that arrive meanwhile wait for the same answer.
      await (this.#taking ??= this.#takeMore(max).finally(() => (this.#taking = null)));
    }
  }

  isIdle(): boolean {
    return this.#taking === null && performance.now() >= Math.max(this.#endsAt, this.#closedUntil);
  }

  async #takeMore(max: number): Promise<void> {
    const amount = Math.ceil(max / partsPerWindow);
    const taken = await this.#records.limits.takeRate({ scope: this.#scope, amount, windowMs });
    const granted = grantedOf(taken, { amount, max });
    const now = performance.now();
    this.#left = granted;
    this.#endsAt = now + windowMs - taken.elapsedMs;
    if (granted === 0) this.#closedUntil = now + waitOf(taken, max);
  }

  #refusal(max: number, waitMs: number): AptoveError {
    const facts = { limitPerMinute: max, of: this.#of, retryAfterSeconds: Math.ceil(waitMs / 1_000) };
    return new AptoveError("rate_limited", `the limit is ${max} requests${whose[this.#of]} per minute`, { facts });
  }
}

/**
 * Returns how many of the `amount` requests could be granted. The minute slides: the requests of the previous minute
 * count in proportion to its share of the last sixty seconds.
 */
function grantedOf({ used, previous, elapsedMs }: RateTaken, { amount, max }: { amount: number; max: number }): number {
  const before = used - amount + Math.min(previous, max) * (1 - elapsedMs / windowMs);
  return Math.max(0, Math.min(amount, Math.floor(max - before)));
}

/**
 * Returns the milliseconds until one request can be granted: until the previous minute has slid out far enough, or
 * until this one is over and has slid out too.
 */
function waitOf({ used, previous, elapsedMs }: RateTaken, max: number): number {
  const one = windowMs / max;
  const slid = Math.min(previous, max);
  const excess = used + slid * (1 - elapsedMs / windowMs) - max + 1;
  const rest = windowMs - elapsedMs;
  const sliding = slid === 0 ? Infinity : (excess * windowMs) / slid;
  return Math.max(1, Math.min(sliding, rest + one));
}
