import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { eventStream, eventStreamHeaders, eventText, sendEventStream, type ServerSentEvent } from "./event-stream.ts";

const event = (n: number): ServerSentEvent => ({ id: `t:${n}`, data: `{"n":${n}}` });

function streamOf(events: AsyncGenerator<ServerSentEvent>, more: StreamParts = {}) {
  const faults: unknown[] = [];
  const stream = eventStream({
    events,
    textOf: eventText,
    gone: more.gone ?? new AbortController(),
    signal: more.signal ?? new AbortController().signal,
    heartbeatMs: more.heartbeatMs ?? 60_000,
    onFault: (error) => faults.push(error),
  });
  return { stream, faults };
}

interface StreamParts {
  signal?: AbortSignal;
  gone?: AbortController;
  heartbeatMs?: number;
}

/** Sends the stream to a client over a connection. Returns both ends of it. */
async function connected(
  t: TestContext,
  events: AsyncGenerator<ServerSentEvent>,
  more: StreamParts = {},
): Promise<{ answer: IncomingMessage; outgoing: ServerResponse; faults: unknown[] }> {
  const { stream, faults } = streamOf(events, more);
  const sending = Promise.withResolvers<ServerResponse>();
  const server = createServer((_incoming, outgoing) => {
    assert.ok(sendEventStream(new Response(stream, { status: 200, headers: eventStreamHeaders }), outgoing));
    sending.resolve(outgoing);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const request = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", agent: false });
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  return { answer, outgoing: await sending.promise, faults };
}

test("[R5] the source is read as the listener reads, one piece at a time", async () => {
  let taken = 0;
  async function* source() {
    for (;;) yield event(++taken);
  }
  const reader = streamOf(source()).stream.getReader();
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
  const reader = streamOf(source()).stream.getReader();
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
  const { stream, faults } = streamOf(source(), { gone });
  const reader = stream.getReader();
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
    const reader = streamOf(source(), { gone, signal: request.signal }).stream.getReader();
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
  const { stream, faults } = streamOf(source());
  const reader = stream.getReader();
  assert.equal((await reader.read()).done, false);
  assert.deepEqual(await reader.read(), { done: true, value: undefined });
  assert.equal(String(faults[0]), "RangeError: secret");
});

test("[V1] text of every kind survives the framing", async () => {
  const delta = "a\nb\r\nc\u2028d\u0000e\u{1f600}\n\ndata: x\nid: 7";
  async function* source() {
    yield { id: "t:1", name: "n", data: JSON.stringify({ delta }) };
  }
  const reader = streamOf(source()).stream.getReader();
  const lines = Buffer.from((await reader.read()).value ?? [])
    .toString()
    .split("\n");
  assert.deepEqual(lines.slice(0, 2), ["id: t:1", "event: n"]);
  assert.equal(lines.length, 5);
  assert.equal((JSON.parse((lines[2] ?? "").slice("data: ".length)) as { delta: string }).delta, delta);
});

test("[R5] a source is ended when the text of one of its items cannot be made", async () => {
  const ended = Promise.withResolvers<string>();
  async function* source() {
    try {
      yield event(1);
      yield event(2);
    } finally {
      ended.resolve("ended");
    }
  }
  const faults: unknown[] = [];
  const stream = eventStream({
    events: source(),
    textOf: () => assert.fail("no text"),
    gone: new AbortController(),
    signal: new AbortController().signal,
    heartbeatMs: 60_000,
    onFault: (error) => faults.push(error),
  });
  assert.equal((await stream.getReader().read()).done, true);
  assert.equal(await ended.promise, "ended");
  assert.equal(faults.length, 1);
});

test("[V1] a connection receives the bytes that the stream has, with its headers", async (t) => {
  async function* source() {
    yield event(1);
    await nextRound();
    yield event(2);
  }
  const { answer } = await connected(t, source());
  assert.equal(answer.headers["content-type"], "text/event-stream; charset=utf-8");
  assert.equal(answer.headers["x-accel-buffering"], "no");
  assert.equal(await text(answer), await new Response(streamOf(source()).stream).text());
});

test("[V1] the headers are sent before there is an event", async (t) => {
  const later = Promise.withResolvers<void>();
  async function* source() {
    await later.promise;
    yield event(1);
  }
  const { answer } = await connected(t, source());
  later.resolve();
  assert.equal(await text(answer), eventText(event(1)));
});

test("[R5] a connection that is full stops the reading of its source, until there is room", async (t) => {
  const pieces = Array.from({ length: 3_000 }, () => ({ data: "x".repeat(10_000) }));
  const left = [...pieces];
  async function* source() {
    for (let next = left.pop(); next !== undefined; next = left.pop()) yield next;
  }
  const { answer, outgoing } = await connected(t, source());
  answer.pause();
  // The system itself holds some megabytes of a connection.
  for (let full = 0; full < 50 && left.length > 0; full = outgoing.writableNeedDrain ? full + 1 : 0) await nextRound();
  assert.ok(left.length > 1_000, `${left.length} events were not taken`);
  answer.resume();
  assert.equal(eventsIn(await buffer(answer)), pieces.length);
});

test("[V2] a connection that waits receives heartbeats, and ends with its source", async (t) => {
  const later = Promise.withResolvers<void>();
  async function* source() {
    await later.promise;
    yield event(1);
  }
  const { answer } = await connected(t, source(), { heartbeatMs: 2 });
  let received = "";
  for await (const piece of answer) {
    received += String(piece);
    if (received.startsWith(":\n\n:\n\n")) later.resolve();
  }
  assert.match(received, /^(:\n\n){2,}id: t:1\n/);
});

test("[R5] a request that is aborted ends its connection and its source", async (t) => {
  const request = new AbortController();
  const gone = new AbortController();
  async function* source() {
    yield event(1);
    await once(gone.signal, "abort");
    yield event(2);
  }
  const { answer, faults } = await connected(t, source(), { gone, signal: request.signal });
  answer.once("data", () => request.abort());
  assert.equal(await text(answer), eventText(event(1)));
  assert.deepEqual(faults, []);
});

test("[R5] a stream that has ended, and a body that is no stream of events, are not sent", async () => {
  async function* source() {
    yield event(1);
  }
  const { stream } = streamOf(source(), { signal: AbortSignal.abort() });
  const outgoing = { destroyed: false, writeHead: () => assert.fail("headers were written") };
  for (const response of [new Response(stream), new Response("x"), new Response(null)])
    assert.equal(sendEventStream(response, outgoing as unknown as ServerResponse), false);
});
