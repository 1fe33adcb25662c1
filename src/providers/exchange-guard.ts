/**
 * Watches over one exchange: ends it when the caller aborts or when a time limit runs out, and says afterwards
 * which of the two it was.
 */
import { type ErrorCode, type Failure, failure } from "../domain/errors.ts";

export class ExchangeGuard {
  /** For the request. */
  readonly signal: AbortSignal;
  readonly #caller: AbortSignal;
  readonly #own = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #limitMs = 0;
  #onLimit: Failure | null = null;
  #ranOut = false;
  #isRead = false;

  constructor(caller: AbortSignal) {
    this.#caller = caller;
    this.signal = AbortSignal.any([caller, this.#own.signal]);
  }

  /** From now on, and again from each piece that arrives, the next thing must come within `ms`. */
  limit(ms: number, onLimit: Failure): void {
    this.#limitMs = ms;
    this.#onLimit = onLimit;
    this.#restart();
  }

  #restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#ranOut = true;
      this.#own.abort();
    }, this.#limitMs);
  }

  /** The body piece by piece, under the limit. Time that the reader of the pieces takes does not count. */
  async *pieces(body: AsyncIterable<Uint8Array> | null): AsyncGenerator<Uint8Array, void, undefined> {
    if (body === null) return;
    for await (const piece of body) {
      clearTimeout(this.#timer);
      yield piece;
      this.#restart();
    }
    this.#isRead = true;
  }

  /** Whether the caller gave up. */
  get isAborted(): boolean {
    return this.#caller.aborted;
  }

  /** What a thrown error means: the caller's abort, a limit, or else the network, which gets the code. */
  failureOf(error: unknown, networkCode: ErrorCode): Failure {
    if (this.isAborted) return failure("interrupted", "the call was aborted");
    if (this.#ranOut && this.#onLimit !== null) return this.#onLimit;
    return failure(networkCode, networkReason(error));
  }

  /** Ends the exchange, if it is still open: of one that was read to its end there is nothing to abort. */
  end(): void {
    clearTimeout(this.#timer);
    if (!this.#isRead) this.#own.abort();
  }
}

/** The reason may be in the chain of causes (`fetch` itself says only "fetch failed"), or in one for each address that was tried. */
function networkReason(error: unknown): string {
  const reasons: string[] = [];
  for (const at of reasonsIn(error)) {
    if (at instanceof AggregateError && at.message === "") continue;
    const code = codeOf(at);
    reasons.push(`${at.message || at.name}${code === null ? "" : ` (${code})`}`);
  }
  return reasons.length === 0 ? String(error) : reasons.join(": ");
}

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

const nobodyThere = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

/** Whether an error says that no connection could be made at all. */
export function isUnreachable(error: unknown): boolean {
  return reasonsIn(error).some((reason) => nobodyThere.includes(codeOf(reason) ?? ""));
}
