/**
 * Decides when a failed model call is retried (C7). It is a pure function: the caller brings the random number and does
 * the waiting.
 */
import type { Failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";

export interface FailedAttempt {
  /** The number of calls made for this step, including the failed one, from 1. */
  attempt: number;
  attemptsMax: number;
  failure: Failure;
  /** The wait that the provider requested, in milliseconds. Null if it requested none. */
  retryAfterMs: number | null;
  /** A random number from 0 to 1. */
  random: number;
}

/**
 * Returns the milliseconds to wait before the next attempt. Null if there must be none: the failure is final, the
 * attempts are used up, or the provider requests a longer wait than a turn may take (its message then states how long).
 *
 * The wait doubles from attempt to attempt, and half of it is random, so that many turns that failed together do not
 * retry together. A `retry-after` is a lower bound: the wait is never shorter, and a little longer at random.
 */
export function retryDelay({ attempt, attemptsMax, failure, retryAfterMs, random }: FailedAttempt): number | null {
  if (!failure.retryable || attempt >= attemptsMax) return null;
  if (retryAfterMs !== null && retryAfterMs > limits.providerBackoffMaxMs) return null;
  const longest = Math.min(limits.providerBackoffMs * 2 ** (attempt - 1), limits.providerBackoffMaxMs);
  if (retryAfterMs === null) return Math.round(longest / 2 + (longest / 2) * random);
  return Math.round(retryAfterMs + limits.providerBackoffMs * random);
}
