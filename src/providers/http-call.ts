/**
 * Sends one request over HTTP and reads its answer, which is a stream of server-sent events. It keeps the contract of
 * `Provider.send`: bytes come before the events that were read from them, time is limited, there is exactly one last
 * event, nothing is thrown, and no failure shows a secret.
 */
import { type Failure, failure } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { noUsage, unknownUsage, type Usage } from "../domain/usage.ts";
import { MaskedBytes, maskedBytes, type MaskedPiece } from "../system/masked-bytes.ts";
import { EventStream } from "./event-stream.ts";
import { ExchangeGuard, isUnreachable } from "./exchange-guard.ts";
import type { HttpConnection } from "./http-connection.ts";
import { type HttpErrorResponse, retryAfterOf } from "./http-failures.ts";
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
  const guard = new ExchangeGuard(signal);
  const neverSent = signal.aborted;
  const { secrets } = call.connection;
  try {
    for await (const event of exchange(call, guard)) {
      yield event.type === "failed" ? withoutSecrets(event, secrets) : event;
    }
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

/** Sends the request and reads the response. Throws what the network throws. */
async function* exchange(call: HttpCall, guard: ExchangeGuard): AsyncGenerator<ProviderEvent, void, undefined> {
  const { connection, url, request } = call;
  const { headers, firstByteMs, idleMs } = connection;
  guard.limit(firstByteMs, failure("provider_unavailable", `it did not answer within ${firstByteMs} ms`));
  const response = await connection.post(url, {
    method: "POST",
    headers,
    body: request.body,
    signal: guard.signal,
    // The key must not follow a redirect to another server.
    redirect: "manual",
  });
  guard.limit(idleMs, failure("provider_stream_cut", `it sent nothing for ${idleMs} ms`));
  if (response.status === 200) yield* answerEvents(call, response, guard);
  else yield* errorEvents(call, response, guard);
}

/** Reads an HTTP error: the bytes of its body, then the failure that it means. */
async function* errorEvents(
  call: HttpCall,
  response: HttpPostResponse,
  guard: ExchangeGuard,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let aborted: { reason: unknown } | null = null;
  try {
    for await (const bytes of guard.pieces(response.body)) {
      chunks.push(bytes);
      size += bytes.length;
      if (size > limits.providerErrorBytesMax) break;
    }
  } catch (error) {
    // The status has arrived, so it is a refusal even if its body was cut.
    if (guard.isAborted) aborted = { reason: error };
  }
  // A proxy may answer with the headers that it received.
  const masked = maskedBytes(Buffer.concat(chunks), call.connection.secrets);
  yield* bytesEvents(masked);
  if (aborted !== null) throw aborted.reason;
  const body = Buffer.from(masked.bytes).toString("utf8");
  const retryAfterMs = retryAfterOf(response.headers, Date.now());
  yield call.errorEvent({ status: response.status, body, retryAfterMs });
}

function* bytesEvents({ bytes, isMasked }: MaskedPiece): Generator<ProviderEvent, void, undefined> {
  if (bytes.length > 0) yield { type: "bytes", bytes, ...(isMasked && { isMasked }) };
}

/**
 * Reads a stream of events up to its end, which may come a short time after the terminal event. A gateway may repeat the
 * key in an answer too, so the events are read from bytes without it (E8).
 */
async function* answerEvents(
  { reader, connection }: HttpCall,
  response: HttpPostResponse,
  guard: ExchangeGuard,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const stream = new EventStream((data) => reader.read(data));
  const masking = new MaskedBytes(connection.secrets);
  let drainEnds = Number.POSITIVE_INFINITY;
  let cut: TerminalEvent | null = null;
  try {
    for await (const received of guard.pieces(response.body)) {
      const piece = masking.feed(received);
      yield* bytesEvents(piece);
      yield* stream.feed(piece.bytes);
      if (stream.isGarbage && stream.size > limits.providerErrorBytesMax) break;
      if (reader.terminal === null) continue;
      drainEnds = Math.min(drainEnds, Date.now() + limits.providerDrainMs);
      if (Date.now() >= drainEnds) break;
      guard.limit(limits.providerDrainMs, failure("provider_stream_cut", "its answer did not end"));
    }
  } catch (error) {
    // The answer is whole after its terminal event, whatever happens to the connection then.
    const reason = guard.failureOf(error, "provider_stream_cut");
    cut = failedEvent(reason, { usage: reader.usageOfFailure });
  }
  const held = masking.end();
  yield* bytesEvents({ bytes: held, isMasked: false });
  if (cut === null) yield* stream.feed(held);
  const reason = unfinished(reader.hasBegun, stream.isGarbage, response);
  yield reader.terminal ?? cut ?? failedEvent(reason, { usage: reader.usageOfFailure });
}

function unfinished(hasBegun: boolean, isGarbage: boolean, response: HttpPostResponse): Failure {
  const type = response.headers.get("content-type") ?? "no content type";
  if (isGarbage || (!hasBegun && !type.startsWith("text/event-stream"))) {
    return failure("provider_answer_invalid", `its answer is not a stream of events (${type})`);
  }
  return failure("provider_stream_cut", "the stream ended without its terminal event");
}

function withHint(reason: Failure, hint: string | undefined): Failure {
  return hint === undefined ? reason : { ...reason, message: `${reason.message}; ${hint}` };
}

/** Returns the event without the key and without the values of extra headers, which an error may quote (E8). */
function withoutSecrets(event: ProviderFailed, secrets: readonly string[]): ProviderFailed {
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, "[secret]"), event.failure.message);
  return { ...event, failure: { ...event.failure, message } };
}
