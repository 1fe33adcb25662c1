import assert from "node:assert/strict";
import { test } from "node:test";
import { eventStream, eventText, type ServerSentEvent } from "./event-stream.ts";

const event = (n: number): ServerSentEvent => ({ id: `t:${n}`, data: `{"n":${n}}` });

function streamOf(
  events: AsyncGenerator<ServerSentEvent>,
  more: { signal?: AbortSignal; gone?: AbortController } = {},
) {
  const faults: unknown[] = [];
  const stream = eventStream({
    events,
    textOf: eventText,
    gone: more.gone ?? new AbortController(),
    signal: more.signal ?? new AbortController().signal,
    heartbeatMs: 60_000,
    onFault: (error) => faults.push(error),
  });
  return { reader: stream.getReader(), faults };
}

test("[R5] the source is read as the listener reads, one piece at a time", async () => {
  let taken = 0;
  async function* source() {
    for (;;) yield event(++taken);
  }
  const { reader } = streamOf(source());
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(taken, 0);
  for (let read = 0, times = 0; times < 5; times++) {
    const { value } = await reader.read();
    read += eventsIn(value);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(value !== undefined && value.length < 66_000, `${value?.length} bytes`);
    assert.ok(taken - read <= 1, `${taken} events are taken, ${read} are read`);
  }
  await reader.cancel();
});

test("[V1] events that are there together leave in one piece, and a later one does not hold them up", async () => {
  const later = Promise.withResolvers<void>();
  async function* source() {
    for (const n of [1, 2, 3]) yield event(n);
    await later.promise;
    yield event(4);
  }
  const { reader } = streamOf(source());
  assert.equal(eventsIn((await reader.read()).value), 3);
  later.resolve();
  assert.equal(eventsIn((await reader.read()).value), 1);
  assert.equal((await reader.read()).done, true);
});

function eventsIn(bytes: Uint8Array | undefined): number {
  return (
    Buffer.from(bytes ?? [])
      .toString()
      .split("\n\n").length - 1
  );
}

test("[R5] a listener that leaves ends the source, even while the source waits", async () => {
  const gone = new AbortController();
  const ended = Promise.withResolvers<string>();
  async function* source() {
    try {
      yield event(1);
      await new Promise((resolve) => gone.signal.addEventListener("abort", resolve));
    } finally {
      ended.resolve("ended");
    }
  }
  const { reader, faults } = streamOf(source(), { gone });
  await reader.read();
  const waiting = reader.read();
  await reader.cancel();
  assert.equal(await ended.promise, "ended");
  assert.equal((await waiting).done, true);
  assert.deepEqual(faults, []);
});

test("[R5] a request that is aborted ends the source and the stream", async () => {
  for (const isAbortedBefore of [true, false]) {
    const request = new AbortController();
    const gone = new AbortController();
    if (isAbortedBefore) request.abort();
    async function* source() {
      yield event(1);
    }
    const { reader } = streamOf(source(), { gone, signal: request.signal });
    request.abort();
    assert.equal((await reader.read()).done, true);
    assert.equal(gone.signal.aborted, true);
  }
});

test("[V2] a source that fails is reported, and the stream ends without an error", async () => {
  async function* source() {
    yield event(1);
    throw new RangeError("secret");
  }
  const { reader, faults } = streamOf(source());
  assert.equal((await reader.read()).done, false);
  assert.deepEqual(await reader.read(), { done: true, value: undefined });
  assert.equal(String(faults[0]), "RangeError: secret");
});

test("[V1] text of every kind survives the framing", async () => {
  const delta = "a\nb\r\nc\u2028d\u0000e\u{1f600}\n\ndata: x\nid: 7";
  async function* source() {
    yield { id: "t:1", name: "n", data: JSON.stringify({ delta }) };
  }
  const { reader } = streamOf(source());
  const lines = Buffer.from((await reader.read()).value ?? [])
    .toString()
    .split("\n");
  assert.deepEqual(lines.slice(0, 2), ["id: t:1", "event: n"]);
  assert.equal(lines.length, 5);
  assert.equal((JSON.parse((lines[2] ?? "").slice("data: ".length)) as { delta: string }).delta, delta);
});
