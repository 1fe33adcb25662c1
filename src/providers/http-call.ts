/**
 * One request of a provider that answers with server-sent events over HTTP, and its answer, as the contract wants
 * it: bytes before what was read from them, time limits, one last event, nothing thrown, no secret in a failure.
 * A driver says where to send, how to read an event and what a refusal means.
 */
import { type Failure, failure } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import type { HttpConnection } from "./http-connection.ts";
import { EventStream } from "./event-stream.ts";
import { retryAfterOf } from "./http-failures.ts";
import type { HttpPostResponse } from "./post.ts";
import type { PreparedRequest, ProviderEvent, ProviderFailed } from "./provider.ts";
import { failedEvent, type TerminalEvent } from "./terminal-event.ts";
import { isUnreachable, ExchangeGuard } from "./exchange-guard.ts";

/** Turns the stream of one answer into events. */
export interface AnswerReader {
  /**
   * The event that ends the answer, once its wire has said that it is whole or has failed. The rest of the body is
   * waited for only shortly, and is still read, so that it may complete the usage.
   */
  readonly terminal: TerminalEvent | null;
  /** Whether anything at all was understood. */
  readonly hasBegun: boolean;
  /** The events for the `data` of one server-sent event. Must not throw. */
  read(data: string): ProviderEvent[];
}

export interface HttpCall {
  connection: HttpConnection;
  url: string;
  request: PreparedRequest;
  reader: AnswerReader;
  /** What a status other than 200 means; `body` is the beginning of it, and may be anything. */
  refusal(status: number, body: string, retryAfterMs: number | null): Failure;
  /** The wait that the body of a refusal asks for, where the headers ask for none. */
  retryAfterIn?(body: string): number | null;
  /** What people may try when there is nobody at the address. */
  mend?: string;
}

/** Sends the bytes of `request` once; keeps the contract of `Provider.send`. */
export async function* sendOverHttp(
  call: HttpCall,
  signal: AbortSignal,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const watch = new ExchangeGuard(signal);
  const { secrets } = call.connection;
  try {
    for await (const event of exchange(call, watch)) {
      yield event.type === "failed" ? withoutSecrets(event, secrets) : event;
    }
  } catch (error) {
    const reason = watch.failureOf(error, "provider_unavailable");
    yield withoutSecrets(failedEvent(isUnreachable(error) ? withMend(reason, call.mend) : reason), secrets);
  } finally {
    watch.end();
  }
}

/** May throw what the network throws. */
async function* exchange(call: HttpCall, watch: ExchangeGuard): AsyncGenerator<ProviderEvent, void, undefined> {
  const { connection, url, request } = call;
  const { headers, firstByteMs, idleMs } = connection;
  watch.limit(firstByteMs, failure("provider_unavailable", `it did not answer within ${firstByteMs} ms`));
  const response = await connection.post(url, {
    method: "POST",
    headers,
    body: request.body,
    signal: watch.signal,
    // The key must not follow a redirect to somewhere else.
    redirect: "manual",
  });
  watch.limit(idleMs, failure("provider_stream_cut", `it sent nothing for ${idleMs} ms`));
  if (response.status === 200) yield* answer(call.reader, response, watch);
  else yield* refusal(call, response, watch);
}

/** An answer that is an HTTP error: its body, then what it means. */
async function* refusal(
  call: HttpCall,
  response: HttpPostResponse,
  watch: ExchangeGuard,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const bytes of watch.pieces(response.body)) {
      yield { type: "bytes", bytes };
      chunks.push(bytes);
      size += bytes.length;
      if (size > limits.providerErrorBytesMax) break;
    }
  } catch (error) {
    // The status is there, so the refusal stands even where its body was cut.
    if (watch.isAborted) throw error;
  }
  const body = Buffer.concat(chunks).toString("utf8");
  const retryAfterMs = retryAfterOf(response.headers, Date.now()) ?? call.retryAfterIn?.(body) ?? null;
  yield failedEvent(call.refusal(response.status, body, retryAfterMs), { retryAfterMs });
}

/** A stream of events up to its end, which may come a little after the terminal event. */
async function* answer(
  reader: AnswerReader,
  response: HttpPostResponse,
  watch: ExchangeGuard,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const stream = new EventStream((data) => reader.read(data));
  let drainEnds = Number.POSITIVE_INFINITY;
  try {
    for await (const bytes of watch.pieces(response.body)) {
      yield { type: "bytes", bytes };
      yield* stream.feed(bytes);
      if (stream.isGarbage && stream.size > limits.providerErrorBytesMax) break;
      if (reader.terminal === null) continue;
      drainEnds = Math.min(drainEnds, Date.now() + limits.providerDrainMs);
      if (Date.now() >= drainEnds) break;
      watch.limit(limits.providerDrainMs, failure("provider_stream_cut", "its answer did not end"));
    }
  } catch (error) {
    // The answer is whole once its terminal event is there, whatever becomes of the connection.
    yield reader.terminal ?? failedEvent(watch.failureOf(error, "provider_stream_cut"));
    return;
  }
  yield reader.terminal ?? failedEvent(unfinished(reader.hasBegun, stream.isGarbage, response));
}

function unfinished(hasBegun: boolean, isGarbage: boolean, response: HttpPostResponse): Failure {
  const type = response.headers.get("content-type") ?? "no content type";
  if (isGarbage || (!hasBegun && !type.startsWith("text/event-stream"))) {
    return failure("provider_answer_invalid", `its answer is not a stream of events (${type})`);
  }
  return failure("provider_stream_cut", "the stream ended without its terminal event");
}

function withMend(reason: Failure, mend: string | undefined): Failure {
  return mend === undefined ? reason : { ...reason, message: `${reason.message}; ${mend}` };
}

/** The same without the key and the values of extra headers, should anybody have quoted them (E8). */
function withoutSecrets(event: ProviderFailed, secrets: readonly string[]): ProviderFailed {
  const message = secrets.reduce((text, secret) => text.replaceAll(secret, "[secret]"), event.failure.message);
  return { ...event, failure: { ...event.failure, message } };
}
