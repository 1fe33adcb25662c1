/** The last event of a provider's answer. */
import type { Failure } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { windowIn } from "./window-in-error.ts";
import { noUsage, type Usage } from "../domain/usage.ts";
import type { ProviderEvent, ProviderFailed } from "./provider.ts";

export type TerminalEvent = Extract<ProviderEvent, { type: "finished" | "failed" }>;

/** Returns the event of a failed answer. */
export function failedEvent(
  reason: Failure,
  more: { retryAfterMs?: number | null; usage?: Usage } = {},
): ProviderFailed {
  const contextTokens = reason.code === "context_window_exceeded" ? windowIn(reason.message) : null;
  return {
    type: "failed",
    failure: reason,
    retryAfterMs: more.retryAfterMs ?? null,
    usage: more.usage ?? noUsage,
    ...(contextTokens !== null && { contextTokens }),
  };
}

/**
 * Returns the wait in whole milliseconds. Null if none was requested, or one that makes no sense: a negative one, one above
 * `limits.providerWaitMaxMs`, or no number at all. A header can hold any digits, and a driver can be written in JavaScript.
 */
export function believedWait(ms: unknown): number | null {
  if (typeof ms !== "number" || !(ms >= 0 && ms <= limits.providerWaitMaxMs)) return null;
  return Math.round(ms);
}
