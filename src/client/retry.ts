/** Which failures of a request may pass, and how long to wait before it is sent again. */
import { AptoveApiError } from "./api-error.ts";

export interface Retries {
  /** How many times in a row a request, or a stream without a new event, may fail. */
  retries: number;
  /** Milliseconds before the first repetition. Each further one waits twice as long, or as long as the server asks for. */
  backoffMs: number;
  signal?: AbortSignal | undefined;
}

const noServer = /^(?:ECONNREFUSED|ENOTFOUND)$/;

/**
 * Returns whether the same request may work a moment later. Before a server has answered for the first time, every refusal goes to the
 * caller (`session_busy` too), and so does a missing server. A request whose connection broke is sent again.
 */
export function mayComeBack(error: unknown, hasAnswered: boolean): boolean {
  if (!(error instanceof AptoveApiError)) return isNetworkError(error);
  if (hasAnswered) return error.retryable;
  return error.code === "unreachable" && !noServer.test(String(error.facts["reason"]));
}

/** Returns true for a broken connection. `fetch` throws a TypeError if a body breaks off; errors of a socket have a code. */
function isNetworkError(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && "code" in error);
}

/** Waits before the repetition that follows this failure, the first of which is 1. */
export async function pauseAfter(fault: unknown, failures: number, { backoffMs, signal }: Retries): Promise<void> {
  const requestedMs = (fault instanceof AptoveApiError && fault.retryAfterMs) || 0;
  await pause(Math.max(requestedMs, backoffMs * 2 ** (failures - 1)), signal);
}

/** Sends a request that changes nothing if it arrives twice, until it has an answer. Throws the last failure. `hasAnswered` is that of `mayComeBack`. */
export async function sentAgain<T>(send: () => Promise<T>, retries: Retries, hasAnswered = false): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await send();
    } catch (error) {
      if (retries.signal?.aborted || failures > retries.retries || !mayComeBack(error, hasAnswered)) throw error;
      await pauseAfter(error, failures, retries);
    }
  }
}

async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
