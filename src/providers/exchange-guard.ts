/** Ends an exchange when the caller aborts or when a time limit runs out, and reports afterwards which of them it was. */
import { type ErrorCode, type Failure, failure } from "../domain/errors.ts";

export class ExchangeGuard {
  /** The signal for the request. */
  readonly signal: AbortSignal;
  readonly #caller: AbortSignal;
  readonly #provider: string;
  readonly #own = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #limitMs = 0;
  /** The time at which the wait for the next piece began, by the clock of the process. */
  #waitsSince = 0;
  #onLimit: Failure | null = null;
  #ranOut = false;
  #isPaused = false;
  /** Set once the body was read to its end. Until then the end of the exchange aborts it. */
  isRead = false;

  constructor(caller: AbortSignal, provider: string) {
    this.#caller = caller;
    this.#provider = provider;
    this.signal = AbortSignal.any([caller, this.#own.signal]);
  }

  /** Sets the time in which the next piece must arrive. It starts now, and again after each piece. */
  limit(ms: number, onLimit: Failure): void {
    this.#onLimit = onLimit;
    this.resume();
    if (ms === this.#limitMs) return;
    this.#limitMs = ms;
    this.#lookIn(ms);
  }

  /** Ends the exchange after this time, unless a piece arrives. A timer that each piece began anew would cost more than the rest. */
  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // The time of a paused exchange starts when it continues.
      const left = this.#isPaused ? this.#limitMs : this.#waitsSince + this.#limitMs - performance.now();
      if (left >= 1) return this.#lookIn(left);
      this.#ranOut = true;
      this.#own.abort();
    }, ms);
  }

  /** Begins the handling of a piece. Its time does not count. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Waits for the next piece: the time starts again. */
  resume(): void {
    this.#isPaused = false;
    this.#waitsSince = performance.now();
  }

  /** True if the caller aborted. */
  get isAborted(): boolean {
    return this.#caller.aborted;
  }

  /** Returns the failure for a thrown error. `networkCode` is for errors that are neither an abort nor a limit. */
  failureOf(error: unknown, networkCode: ErrorCode): Failure {
    if (this.isAborted) return failure("interrupted", "the call was aborted");
    if (this.#ranOut && this.#onLimit !== null) return this.#onLimit;
    const reason = networkReason(error);
    const isUnreached = isUnreachable(error);
    return failure(networkCode, `${this.#provider}${isUnreached ? " cannot be reached" : ""}: ${reason}`);
  }

  /** Aborts the exchange unless it was read to its end. */
  end(): void {
    clearTimeout(this.#timer);
    if (!this.isRead) this.#own.abort();
  }
}

/**
 * Returns the text of a network error. The reason may be in the chain of causes, because the message of `fetch` itself
 * is only "fetch failed", or in one error for each address that was tried.
 */
export function networkReason(error: unknown): string {
  const reasons: string[] = [];
  for (const at of reasonsIn(error)) {
    if (at instanceof AggregateError && at.message === "") continue;
    const code = codeOf(at);
    reasons.push(`${wordsByCode.get(code) ?? (at.message || at.name)}${code === null ? "" : ` (${code})`}`);
  }
  return reasons.length === 0 ? String(error) : reasons.join(": ");
}

/** Errors whose own text does not say what happened: the text of a cut connection is "aborted". */
const wordsByCode: ReadonlyMap<string | null, string> = new Map([
  ["ECONNRESET", "the connection was cut"],
  ["EPIPE", "the connection was cut"],
  ["ETIMEDOUT", "the connection timed out"],
  ["UND_ERR_SOCKET", "the connection was cut"],
]);

function reasonsIn(error: unknown): Error[] {
  const found: Error[] = [];
  for (let at = error; at instanceof Error && found.length < 4;) {
    found.push(at);
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return found;
}

function codeOf(error: Error): string | null {
  return "code" in error && typeof error.code === "string" ? error.code : null;
}

const unreachableCodes = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

/** Checks whether an error means that no connection could be made. */
export function isUnreachable(error: unknown): boolean {
  return reasonsIn(error).some((reason) => unreachableCodes.includes(codeOf(reason) ?? ""));
}
