/**
 * The connection to a Qdrant server: the official client, loaded with the first request. Each request has a timeout, a few
 * retries if they may help, and a clear error (Q5). The errors never contain the key (E8).
 */
import type { QdrantClient } from "@qdrant/js-client-rest";
import { AptoveError } from "../../domain/errors.ts";
import { pause, unlessAborted } from "../../system/abort.ts";

export interface QdrantAddress {
  /** The URL of the server. The default port is Qdrant's, 6333. */
  url: string;
  apiKey: string | null;
}

export interface RequestTimes {
  /** The timeout of one attempt, in milliseconds. */
  requestMs: number;
  /** The pause before the second attempt, in milliseconds. It doubles for each further one. */
  backoffMs: number;
}

export interface RequestBounds {
  /** Aborts the wait, but not a request that the server has received. */
  signal?: AbortSignal;
  attemptsMax: number;
}

/** The bounds of a search, for which a user waits. A run has more attempts and may wait for a server that restarts. */
export const searchBounds: RequestBounds = { attemptsMax: 2 };

export class QdrantConnection {
  readonly url: string;
  readonly #apiKey: string | null;
  readonly #times: RequestTimes;
  #client: Promise<QdrantClient> | null = null;

  constructor({ url, apiKey }: QdrantAddress, times: RequestTimes) {
    this.url = url;
    this.#apiKey = apiKey;
    this.#times = times;
  }

  /** Sends a request. Throws `retrieval_failed`, or the signal's reason. The request may be repeated, so it must be idempotent. */
  async ask<T>(request: (client: QdrantClient) => Promise<T>, { signal, attemptsMax }: RequestBounds): Promise<T> {
    const client = await (this.#client ??= openClient(this.url, this.#apiKey, this.#times.requestMs));
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      try {
        return await unlessAborted(request(client), signal);
      } catch (error) {
        signal?.throwIfAborted();
        const fault = faultOf(error);
        if (!fault.isPassing || attempt >= attemptsMax) throw this.#failed(fault);
        // If the wait is aborted, the loop throws the signal's own reason.
        await pause(this.#times.backoffMs * 2 ** (attempt - 1), signal);
      }
    }
  }

  #failed({ status, words }: Fault): AptoveError {
    const safe = this.#apiKey === null ? words : words.replaceAll(this.#apiKey, "[key]");
    const detail = `Qdrant at ${this.url} failed: ${safe}`;
    // It has no cause, because the caught error may contain the request, and with it the key.
    return new QdrantFailure(detail, status);
  }
}

/** A `retrieval_failed` with the status of the response. Null if there was no response. */
export class QdrantFailure extends AptoveError {
  readonly status: number | null;

  constructor(detail: string, status: number | null) {
    super("retrieval_failed", detail);
    this.status = status;
  }
}

async function openClient(url: string, apiKey: string | null, timeout: number): Promise<QdrantClient> {
  const { QdrantClient } = await import("@qdrant/js-client-rest");
  const { origin, pathname } = new URL(url);
  const prefix = pathname.replace(/\/+$/, "");
  // The parsed address lacks a port that is the scheme's default, and the client would use 6333 instead.
  const saysPort = /^https?:\/\/[^/]*:\d+(?:\/|$)/.test(url);
  return new QdrantClient({
    url: origin,
    timeout,
    // The check would write to the console. collections.ts checks the version when it matters.
    checkCompatibility: false,
    ...(saysPort && { port: null as unknown as number }),
    ...(prefix !== "" && { prefix }),
    // The key is a header of ours, because the client's own option writes a warning to the console for each plain connection.
    ...(apiKey !== null && { headers: { "api-key": apiKey } }),
  });
}

interface Fault {
  status: number | null;
  words: string;
  /** True if the same request may succeed in a moment. */
  isPassing: boolean;
}

function faultOf(error: unknown): Fault {
  if (error instanceof AptoveError) return { status: null, words: error.detail, isPassing: true };
  const { status, data, name, message, cause } = error as Partial<Record<string, unknown>>;
  if (typeof status === "number") {
    const isPassing = status >= 500 || status === 429 || status === 408;
    return { status, words: `${status} ${wordsOf(status, data)}`.trim(), isPassing };
  }
  if (name === "QdrantClientTimeoutError") return { status: null, words: "no answer in time", isPassing: true };
  if (name === "QdrantClientResourceExhaustedError") {
    return { status: 429, words: "429 it has too much to do", isPassing: true };
  }
  // The client has messages of its own if the response is a foreign JSON document, or a page of a proxy.
  const isForeign = error instanceof SyntaxError || message === "Result came uninitialized";
  if (isForeign) return { status: null, words: "its answer cannot be read", isPassing: true };
  const reason = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
  return { status: null, words: `no answer: ${String(reason)}`, isPassing: true };
}

function wordsOf(status: number, data: unknown): string {
  if (status === 401 || status === 403) return "it did not accept the key; set QDRANT_API_KEY to one that may write";
  const reported = (data as { status?: { error?: unknown } } | null)?.status?.error;
  return String(reported ?? (typeof data === "string" ? data : "")).slice(0, 300);
}
