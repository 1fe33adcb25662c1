/** When a failed model call is tried again (C7). Pure: whoever asks brings the dice and does the waiting. */
import type { Failure } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";

export interface FailedAttempt {
  /** Calls made so far for this step, the failed one included; from 1. */
  attempt: number;
  attemptsMax: number;
  failure: Failure;
  /** What the provider asked for, or null. */
  retryAfterMs: number | null;
  /** From 0 to 1. */
  random: number;
}

/**
 * Milliseconds to wait before the next attempt, or null when there shall be none: the failure is final, the
 * attempts are used up, or the provider asks for a longer wait than a turn may take (its message then says
 * how long).
 *
 * The wait doubles from attempt to attempt, and half of it is chance, so that many turns that failed together
 * do not come back together. A `retry-after` is a lower bound: never earlier, and a little spread above it.
 */
export function retryDelay({ attempt, attemptsMax, failure, retryAfterMs, random }: FailedAttempt): number | null {
  if (!failure.retryable || attempt >= attemptsMax) return null;
  if (retryAfterMs !== null && retryAfterMs > limits.providerBackoffMaxMs) return null;
  const longest = Math.min(limits.providerBackoffMs * 2 ** (attempt - 1), limits.providerBackoffMaxMs);
  if (retryAfterMs === null) return Math.round(longest / 2 + (longest / 2) * random);
  return Math.round(retryAfterMs + limits.providerBackoffMs * random);
}
