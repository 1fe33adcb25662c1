/** Reads the answers and errors of a driver on HTTP without a connection, for tests of what its wire means. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Failure } from "../src/domain/errors.ts";
import { AnswerReader, type AnswerWire } from "../src/providers/answer-reader.ts";
import { EventStream } from "../src/providers/event-stream.ts";
import { type ErrorWire, httpErrorEvent, streamErrorFailure } from "../src/providers/http-failures.ts";
import type { PreparedRequest, ProviderEvent, ProviderFailed } from "../src/providers/provider.ts";

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Returns the bytes of one server-sent event for each value. */
export function eventBytes(...values: unknown[]): Uint8Array {
  return bytesOf(values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join(""));
}

export interface AnswerSource<Part> {
  wire: AnswerWire<Part>;
  providerName: string;
  request: Pick<PreparedRequest, "model" | "body">;
}

/** Returns all events of an answer that arrives in these pieces, with the terminal event last. */
export function readAnswer<Part>(source: AnswerSource<Part>, pieces: readonly Uint8Array[]): ProviderEvent[] {
  const reader = new AnswerReader(source.wire, source.providerName, { ...source.request, dropped: [] });
  const stream = new EventStream((data) => reader.read(data));
  const events = pieces.flatMap((piece) => stream.feed(piece));
  return reader.terminal === null ? events : [...events, reader.terminal];
}

/** Checks that noise made of random bytes and of these texts never throws and never finishes an answer. */
export function assertNoiseNeverFinishes<Part>(source: AnswerSource<Part>, texts: readonly string[]): void {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.array(fc.constantFrom(...texts)).map((pieces) => bytesOf(pieces.join(""))),
  );
  fc.assert(
    fc.property(fc.array(noise, { maxLength: 6 }), (pieces) => {
      assert.ok(readAnswer(source, pieces).every((event) => event.type !== "finished"));
    }),
    { numRuns: 500 },
  );
}

/** Checks that the events are the same wherever the network cuts the bytes. */
export function assertSameInAnyPieces<Part>(source: AnswerSource<Part>, whole: Uint8Array): void {
  const expected = readAnswer(source, [whole]);
  for (let cut = 1; cut < whole.length; cut += 1) {
    assert.deepEqual(readAnswer(source, [whole.subarray(0, cut), whole.subarray(cut)]), expected, `cut at ${cut}`);
  }
  assert.deepEqual(
    readAnswer(
      source,
      Array.from(whole, (byte) => Uint8Array.of(byte)),
    ),
    expected,
  );
}

export interface RefusalConditions {
  /** The wait in milliseconds that the headers request; null by default. */
  retryAfterMs?: number;
  /** True by default. */
  hasKey?: boolean;
  model?: string;
}

/** Returns the last event for an HTTP error of the provider "acme". A body that is not a text is sent as JSON. */
export function refusedRequest<WireError>(
  wire: ErrorWire<WireError>,
  [status, body]: readonly [status: number, body: unknown],
  { retryAfterMs, hasKey = true, model = "model-1" }: RefusalConditions = {},
): ProviderFailed {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const refused = { provider: "acme", status, body: text, retryAfterMs: retryAfterMs ?? null, hasKey, model };
  return httpErrorEvent(wire, refused);
}

/** Returns the failure for an error inside a stream. */
export function failedStream<WireError>(wire: ErrorWire<WireError>, error: unknown): Failure {
  return streamErrorFailure(wire, "acme", error);
}
