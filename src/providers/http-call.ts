/**
 * Sends one request over HTTP and reads its answer, which is a stream of server-sent events. It keeps the contract of
 * `Provider.send`: bytes come before the events that were read from them, time is limited, there is exactly one last
 * event, nothing is thrown, and no failure shows a secret.
 */
import { type Failure, failure } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { spokenTime } from "../domain/spoken-time.ts";
import { noUsage, unknownUsage, type Usage } from "../domain/usage.ts";
import { MaskedBytes, maskedBytes, type MaskedPiece } from "../system/masked-bytes.ts";
import { EventStream } from "./event-stream.ts";
import { ExchangeGuard, isUnreachable } from "./exchange-guard.ts";
import type { HttpConnection } from "./http-connection.ts";
import { type HttpErrorResponse, redirectOf, retryAfterOf } from "./http-failures.ts";
import type { HttpPostResponse } from "./post.ts";
import type { PreparedRequest, ProviderEvent, ProviderFailed } from "./provider.ts";
import { failedEvent, type TerminalEvent } from "./terminal-event.ts";

/** Turns the stream of one answer into events. */
export interface StreamReader {
  /**
   * The event that ends the answer; null until the answer is whole or has failed. The rest of the body is awaited for a
   * short time only. It is still read, because it may complete the usage.
   */
  readonly terminal: TerminalEvent | null;
  /** True after the first event that could be parsed. */
  readonly hasBegun: boolean;
  /** The usage if the answer ends now, before its own end: what is known of it. */
  readonly usageOfFailure: Usage;
  /** Returns the events for the `data` of one server-sent event. Must not throw. */
  read(data: string): ProviderEvent[];
}

export interface HttpCall {
  connection: HttpConnection;
  url: string;
  request: PreparedRequest;
  reader: StreamReader;
  /** Returns the last event for a response with a status other than 200. */
  errorEvent(response: HttpErrorResponse): ProviderFailed;
  /** What the user can try if no connection to the server can be made. */
  unreachableHint?: string;
}

/** Sends the bytes of `request` once; keeps the contract of `Provider.send`. */
export async function* sendOverHttp(
  call: HttpCall,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const guard = new ExchangeGuard(signal, call.connection.name);
  const neverSent = signal.aborted;
  const { secrets } = call.connection;
  try {
    const response = await responseTo(call, guard);
    const reading = response.status === 200 ? new AnswerBody(call, response) : new RefusalBody(call, response);
    let cut: unknown = null;
    let isOver = false;
    try {
      for await (const received of response.body ?? []) {
        guard.pause();
        for (const event of reading.take(received)) yield event;
        isOver = reading.isOver(guard);
        if (isOver) break;
        guard.resume();
      }
      guard.isRead = !isOver;
    } catch (error) {
      cut = error;
    }
    for (const event of reading.end(guard, cut)) yield withoutSecrets(event, secrets);
  } catch (error) {
    const reason = guard.failureOf(error, "provider_unavailable");
    const shown = isUnreachable(error) ? withHint(reason, call.unreachableHint) : reason;
    // The provider may have worked on a request that was sent, and nothing says how much.
    const usage = isUnreachable(error) || neverSent ? noUsage : unknownUsage;
    yield withoutSecrets(failedEvent(shown, { usage }), secrets);
  } finally {
    guard.end();
  }
}

/** Sends the request. Throws what the network throws. */
async function responseTo(call: HttpCall, guard: ExchangeGuard): Promise<HttpPostResponse> {
  const { connection, url, request } = call;
  const { name, headers, firstByteMs, idleMs } = connection;
  guard.limit(firstByteMs, failure("provider_unavailable", `${name} did not answer within ${spokenTime(firstByteMs)}`));
  const response = await connection.post(url, {
    method: "POST",
    headers,
    body: request.body,
    signal: guard.signal,
    // The key must not follow a redirect to another server.
    redirect: "manual",
  });
  guard.limit(idleMs, failure("provider_stream_cut", `${name} sent nothing for ${spokenTime(idleMs)}`));
  return response;
}

/** Reads the body of a response, piece by piece. */
interface ResponseBody {
  /** Returns the events that the piece completes. */
  take(received: Uint8Array): ProviderEvent[];
  /** Returns true if nothing more of the body is needed. It may set a limit for the rest. */
  isOver(guard: ExchangeGuard): boolean;
  /** Returns the remaining events, among them the last one. `cut` is what ended the body before its end, or null. */
  end(guard: ExchangeGuard, cut: unknown): ProviderEvent[];
}

/** An HTTP error: the bytes of its body, then the failure that it means. */
class RefusalBody implements ResponseBody {
  readonly #call: HttpCall;
  readonly #response: HttpPostResponse;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(call: HttpCall, response: HttpPostResponse) {
    this.#call = call;
    this.#response = response;
  }

  take(received: Uint8Array): ProviderEvent[] {
    this.#chunks.push(received);
    this.#size += received.length;
    return [];
  }

  isOver(): boolean {
    return this.#size > limits.providerErrorBytesMax;
  }

  /** The status has arrived, so it is a refusal even if its body was cut. */
  end(guard: ExchangeGuard, cut: unknown): ProviderEvent[] {
    const { connection, errorEvent } = this.#call;
    // A proxy may answer with the headers that it received.
    const masked = maskedBytes(Buffer.concat(this.#chunks), connection.secrets);
    const bytes = bytesEvents(masked);
    if (cut !== null && guard.isAborted) {
      return [...bytes, failedEvent(guard.failureOf(cut, "provider_unavailable"), { usage: unknownUsage })];
    }
    const { status, headers } = this.#response;
    const body = Buffer.from(masked.bytes).toString("utf8");
    const location = redirectOf({ status, headers }, this.#call.url);
    return [...bytes, errorEvent({ status, body, location, retryAfterMs: retryAfterOf(headers, Date.now()) })];
  }
}

function bytesEvents({ bytes, isMasked }: MaskedPiece): ProviderEvent[] {
  return bytes.length === 0 ? [] : [{ type: "bytes", bytes, ...(isMasked && { isMasked }) }];
}

/**
 * A stream of events up to its end, which may come a short time after the terminal event. A gateway may repeat the
 * key in an answer too, so the events are read from bytes without it (E8).
 */
class AnswerBody implements ResponseBody {
  readonly #provider: string;
  readonly #reader: StreamReader;
  readonly #response: HttpPostResponse;
  readonly #stream: EventStream;
  readonly #masking: MaskedBytes;
  #drainEnds = Number.POSITIVE_INFINITY;

  constructor({ reader, connection }: HttpCall, response: HttpPostResponse) {
    this.#provider = connection.name;
    this.#reader = reader;
    this.#response = response;
    this.#stream = new EventStream((data) => reader.read(data));
    this.#masking = new MaskedBytes(connection.secrets);
  }

  take(received: Uint8Array): ProviderEvent[] {
    const piece = this.#masking.feed(received);
    return [...bytesEvents(piece), ...this.#stream.feed(piece.bytes)];
  }

  isOver(guard: ExchangeGuard): boolean {
    if (this.#stream.fault !== null && this.#stream.size > limits.providerErrorBytesMax) return true;
    if (this.#reader.terminal === null) return false;
    this.#drainEnds = Math.min(this.#drainEnds, Date.now() + limits.providerDrainMs);
    guard.limit(limits.providerDrainMs, failure("provider_stream_cut", `${this.#provider} did not end its answer`));
    return Date.now() >= this.#drainEnds;
  }

  /** The answer is whole after its terminal event, whatever happens to the connection then. */
  end(guard: ExchangeGuard, cut: unknown): ProviderEvent[] {
    const held = this.#masking.end();
    const events = [...bytesEvents({ bytes: held, isMasked: false }), ...(cut === null ? this.#stream.feed(held) : [])];
    const { terminal, usageOfFailure: usage } = this.#reader;
    return [...events, terminal ?? failedEvent(this.#unfinished(guard, cut), { usage })];
  }

  #unfinished(guard: ExchangeGuard, cut: unknown): Failure {
    if (cut !== null) return guard.failureOf(cut, "provider_stream_cut");
    const name = this.#provider;
    const { fault, size } = this.#stream;
    if (fault === "event_too_large") {
      const most = `${limits.providerEventBytesMax / 1_048_576} MB`;
      return failure("provider_answer_invalid", `${name} sent an event that is too large; one may have ${most}`);
    }
    const { headers } = this.#response;
    const type = headers.get("content-type") ?? "no content type";
    const encoding = headers.get("content-encoding") ?? "identity";
    if (!this.#reader.hasBegun && type.startsWith("text/event-stream") && encoding !== "identity") {
      const fix = "have it, or the proxy before it, send streams of events without compression";
      return failure(
        "provider_answer_invalid",
        `${name} compressed its answer (content-encoding: ${encoding}); ${fix}`,
      );
    }
    if (fault === "no_events" || (!this.#reader.hasBegun && !type.startsWith("text/event-stream"))) {
      return failure("provider_answer_invalid", `${name} did not answer with a stream of events (${type})`);
    }
    if (size === 0) return failure("provider_stream_cut", `${name} sent an empty answer`);
    return failure("provider_stream_cut", `${name} ended its answer before the last event`);
  }
}

function withHint(reason: Failure, hint: string | undefined): Failure {
  return hint === undefined ? reason : { ...reason, message: `${reason.message}; ${hint}` };
}

/** Returns the event without the key and without the values of extra headers, which an error may quote (E8). */
function withoutSecrets(event: ProviderEvent, secrets: readonly string[]): ProviderEvent {
  if (event.type !== "failed") return event;
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, "[secret]"), event.failure.message);
  return { ...event, failure: { ...event.failure, message } };
}
