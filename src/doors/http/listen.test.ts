/** The HTTP door on a socket: what only a real connection can show. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import { hasCode } from "../../../testing/refusals.ts";
import { noObserver } from "../../telemetry/observer.ts";
import type { ExecuteAccepted } from "../../protocol/execute.ts";
import { sseMessages, testDoor, type TestDoor, type TestDoorOptions } from "../../../testing/http-door.ts";
import { listen, type ListeningServer } from "./listen.ts";

const execute = "/api/ai/agent/execute";

interface Served extends TestDoor {
  server: ListeningServer;
  headers: Record<string, string>;
}

async function served(context: TestContext, options: TestDoorOptions = {}): Promise<Served> {
  const tested = await testDoor(context, options);
  const server = await listen(tested.door, { host: "127.0.0.1", port: 0 });
  context.after(() => server.close());
  return { ...tested, server, headers: { authorization: `Bearer ${tested.admin.key}` } };
}

/** Sends these bytes, and returns everything that the server sends until it closes. */
async function raw({ server }: Served, text: string): Promise<string> {
  const socket = connect(server.port, "127.0.0.1");
  const pieces: Buffer[] = [];
  socket.on("data", (piece: Buffer) => pieces.push(piece));
  socket.on("error", () => socket.destroy());
  socket.write(text);
  await new Promise((resolve) => socket.on("close", resolve));
  return Buffer.concat(pieces).toString();
}

async function isServing({ server, headers }: Served): Promise<void> {
  assert.equal((await fetch(`${server.url}/api/me`, { headers })).status, 200);
}

test("[H1] [H2] [V3] the door works over a socket, streams too", async (t) => {
  const { server, headers } = await served(t);
  const json = { ...headers, "content-type": "application/json" };
  const plain = await fetch(server.url + execute, { method: "POST", headers: json, body: '{"instruction":"x"}' });
  assert.partialDeepStrictEqual(await plain.json(), { kind: "answer", text: "answer 1" });
  const form = new FormData();
  form.set("request", '{"instruction":"x"}');
  form.append("file", new Blob(["let a;"]), "src/a.ts");
  const answer = await fetch(server.url + execute, { method: "POST", headers, body: form });
  assert.equal(answer.status, 200);
  const stream = await fetch(server.url + execute, {
    method: "POST",
    headers: { ...json, accept: "text/event-stream" },
    body: '{"instruction":"y"}',
  });
  const messages = sseMessages(await stream.text());
  assert.match(messages.at(-1)?.data ?? "", /RUN_FINISHED/);
  const head = await fetch(`${server.url}/api/sessions`, { method: "HEAD", headers });
  assert.deepEqual([head.status, await head.text()], [200, ""]);
});

for (const [how, length, frame] of [
  ["that announces its 50 MB", "content-length: 52428800", (piece: Buffer) => [piece]],
  [
    "of 50 MB in chunks",
    "transfer-encoding: chunked",
    (piece: Buffer) => [`${piece.length.toString(16)}\r\n`, piece, "\r\n"],
  ],
] as const) {
  test(`[H5] a body ${how} gets its refusal, even if its client reads only after it has sent everything`, async (t) => {
    const door = await served(t);
    const socket = connect(door.server.port, "127.0.0.1");
    const failed = new Promise<never>((_, reject) => socket.once("error", reject));
    socket.write(`POST ${execute} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${door.headers["authorization"]}\r\n`);
    socket.write(`content-type: text/plain\r\n${length}\r\n\r\n`);
    const piece = Buffer.alloc(1_048_576, 0x61);
    for (let n = 0; n < 50; n++)
      for (const part of frame(piece))
        await Promise.race([new Promise((resolve) => socket.write(part, resolve)), failed]);
    const pieces: Buffer[] = [];
    socket.on("data", (bytes: Buffer) => pieces.push(bytes));
    await Promise.race([once(socket, "end"), failed]);
    const answer = Buffer.concat(pieces).toString();
    const [head, body] = answer.split("\r\n\r\n");
    assert.match(head ?? "", /^HTTP\/1\.1 413 [\s\S]*connection: close/i);
    assert.match(body ?? "", /"code":"body_too_large"/);
    assert.match(body ?? "", /"limitBytes":16777216/);
    await isServing(door);
  });
}

test("[H5] a client that sends without end after its refusal is cut off", async (t) => {
  const door = await served(t);
  const socket = connect(door.server.port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => socket.destroy());
  socket.write(`POST ${execute} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${door.headers["authorization"]}\r\n`);
  socket.write("content-type: text/plain\r\ncontent-length: 99999999999\r\n\r\n");
  const piece = Buffer.alloc(1_048_576, 0x61);
  const send = () => void (socket.writable && socket.write(piece, send));
  send();
  await closed;
  assert.ok(socket.bytesWritten < 1_073_741_824, `${socket.bytesWritten} bytes were taken`);
  await isServing(door);
});

test("[H5] an answer to a body that is still on its way ends the connection: no later request is lost with it", async (t) => {
  const door = await served(t);
  const announced = { "content-type": "application/x-ndjson", "content-length": "2000000" };
  const sending = httpRequest(`${door.server.url}/api/sessions/import`, {
    method: "POST",
    headers: { ...door.headers, ...announced, connection: "keep-alive" },
  });
  sending.on("error", () => sending.destroy());
  sending.write("this is no export\n");
  const [response] = (await once(sending, "response")) as [import("node:http").IncomingMessage];
  assert.equal(response.statusCode, 422);
  assert.equal(response.headers.connection, "close");
  sending.destroy();
  await isServing(door);
});

const oddities: [what: string, text: (key: string) => string, status: RegExp][] = [
  [
    "no host",
    (key) => `GET /api/me HTTP/1.1\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    /^HTTP\/1\.1 400 /,
  ],
  [
    "HTTP/1.0 without a host",
    (key) => `GET /api/me HTTP/1.0\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    /^HTTP\/1\.1 200 /,
  ],
  [
    "a host with a space",
    () => "GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n",
    /^HTTP\/1\.1 400 [\s\S]*request_invalid/,
  ],
  [
    "a host of an attacker",
    (key) => `GET /api/me HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    /^HTTP\/1\.1 403 [\s\S]*origin_refused/,
  ],
  [
    "two hosts",
    () => "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    /^HTTP\/1\.1 40[013] /,
  ],
  [
    "malformed percent-encoding",
    (key) =>
      `GET /api/turns/%zz%ff HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    /^HTTP\/1\.1 404 /,
  ],
  [
    "an absolute target",
    (key) =>
      `GET http://evil.example/api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    /^HTTP\/1\.1 403 /,
  ],
  [
    "headers of 20 KB",
    (key) =>
      `GET /api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`,
    /^HTTP\/1\.1 431 /,
  ],
  ["no HTTP at all", () => "\u0016\u0003\u0001\r\n\r\n", /^HTTP\/1\.1 400 /],
  [
    "TRACE",
    (key) => `TRACE /api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`,
    /^HTTP\/1\.1 405 /,
  ],
  ["an unknown method", () => "BREW / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", /^HTTP\/1\.1 400 /],
];

for (const [what, text, status] of oddities) {
  test(`[H3] [H4] ${what} is answered, and the server continues`, async (t) => {
    const door = await served(t);
    assert.match(await raw(door, text(door.admin.key)), status);
    await isServing(door);
    assert.deepEqual(door.reports, []);
  });
}

test("[H5] a client that leaves in the middle of its body leaves nothing behind", async (t) => {
  const door = await served(t);
  const socket = connect(door.server.port, "127.0.0.1");
  const head = `POST ${execute} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${door.admin.key}\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nhalf`;
  await once(socket, "connect");
  socket.write(head, () => socket.destroy());
  await once(socket, "close");
  await isServing(door);
  assert.deepEqual((await door.engine.sessions.list(door.admin, {})).sessions, []);
  assert.deepEqual(door.reports, []);
});

/** Opens a stream of events and reads none of it. */
async function openAndWait({ server, admin }: Served, at: string): Promise<Socket> {
  const socket = connect(server.port, "127.0.0.1");
  await once(socket, "connect");
  socket.pause();
  socket.write(`GET ${at} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${admin.key}\r\n\r\n`);
  return socket;
}

async function start({ server, headers }: Served): Promise<ExecuteAccepted> {
  const response = await fetch(server.url + execute, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: '{"instruction":"x","transport":"stream"}',
  });
  return (await response.json()) as ExecuteAccepted;
}

test("[R5] a client that reads nothing, and one that vanishes, delay no other client", async (t) => {
  const held = Promise.withResolvers<void>();
  const big = "x".repeat(100_000);
  const door = await served(t, { script: () => [{ says: [big, held.promise, ...Array<string>(100).fill(big)] }] });
  const { eventsUrl } = await start(door);
  const [stuck, vanishing] = [await openAndWait(door, eventsUrl), await openAndWait(door, eventsUrl)];
  const quick = await fetch(door.server.url + eventsUrl, { headers: door.headers });
  vanishing.destroy();
  held.resolve();
  const messages = sseMessages(await quick.text());
  assert.match(messages.at(-1)?.data ?? "", /RUN_FINISHED/);
  await isServing(door);
  // The unread events were not sent yet: they still arrive, and completely.
  const pieces: Buffer[] = [];
  stuck.on("data", (piece: Buffer) => {
    pieces.push(piece);
    if (piece.includes("0\r\n\r\n")) stuck.end();
  });
  stuck.resume();
  await once(stuck, "close");
  const ids = [
    ...Buffer.concat(pieces)
      .toString()
      .matchAll(/^id: (.*)$/gm),
  ].map((match) => match[1]);
  assert.deepEqual(
    ids,
    messages.map(({ id }) => id),
  );
  assert.deepEqual(door.reports, []);
});

test("[U3] [R5] [H5] a listener to the news that vanishes makes room for another one", async (t) => {
  const ended = Promise.withResolvers<void>();
  const stream = () => ({ within: <T>(work: () => T): T => work(), end: ended.resolve });
  const limits = { newsListenersPerUserMax: 1 };
  const door = await served(t, { door: { limits, observer: { ...noObserver, stream } } });
  const vanishing = await openAndWait(door, "/api/events");
  vanishing.resume();
  await once(vanishing, "data");
  await door.refused("connections_limited", "GET /api/events");
  vanishing.destroy();
  await ended.promise;
  await (await door.call("GET /api/events")).body?.cancel();
});

test("[R4] closing ends open streams after the grace time, and frees the port", async (t) => {
  const door = await served(t, { script: () => [{ waits: new Promise(() => undefined) }] });
  const { eventsUrl } = await start(door);
  const stream = await fetch(door.server.url + eventsUrl, { headers: door.headers });
  const reading = stream.text();
  await Promise.all([door.server.close({ graceMs: 20 }), assert.rejects(reading)]);
  await assert.rejects(fetch(`${door.server.url}/healthz`));
  const again = await listen(door.door, { host: "127.0.0.1", port: door.server.port });
  await again.close();
});

/** Runs in a thread: a client whose requests are on their way while the server does nothing. */
const hurriedClient = `
  const { connect } = require("node:net");
  const { parentPort, workerData } = require("node:worker_threads");
  const { port, count, sent } = workerData;
  const request = "GET /healthz HTTP/1.1\\r\\nhost: 127.0.0.1\\r\\n\\r\\n";
  const outcomes = [];
  const open = (onConnect) => {
    const one = { text: "", fault: null };
    one.socket = connect(port, "127.0.0.1", () => onConnect(one.socket));
    one.socket.setEncoding("utf8").on("data", (piece) => (one.text += piece)).on("error", ({ code }) => (one.fault = code));
    one.socket.on("close", () => {
      outcomes.push(one.fault ?? one.text.split("\\r\\n")[0]);
      if (outcomes.length === count + 1) parentPort.postMessage(outcomes);
    });
    return one;
  };
  const kept = open((socket) => socket.write(request));
  kept.socket.once("data", () => {
    parentPort.postMessage("idle");
    Atomics.wait(sent, 1, 0);
    let left = count + 1;
    const wrote = () => {
      if (--left > 0) return;
      Atomics.store(sent, 0, 1);
      Atomics.notify(sent, 0);
    };
    kept.text = "";
    kept.socket.write(request, wrote);
    for (let at = 0; at < count; at += 1) open((socket) => socket.write(request, wrote));
  });
`;

test("[R4] a server that closes answers the requests that clients have sent already", async (t) => {
  const { server } = await served(t);
  const sent = new Int32Array(new SharedArrayBuffer(8));
  const count = 40;
  const client = new Worker(hurriedClient, { eval: true, workerData: { port: server.port, count, sent } });
  t.after(() => client.terminate());
  assert.deepEqual(await once(client, "message"), ["idle"]);
  Atomics.store(sent, 1, 1);
  Atomics.notify(sent, 1);
  // From here to the call of close, this thread sees no connection: the system has accepted them.
  Atomics.wait(sent, 0, 0);
  const [[outcomes]] = await Promise.all([once(client, "message"), server.close({ graceMs: 10_000 })]);
  assert.deepEqual(new Set(outcomes as string[]), new Set(["HTTP/1.1 200 OK"]));
});

test("an address in use is an error that names the cause", async (t) => {
  const { server, door } = await served(t);
  await assert.rejects(
    listen(door, { host: "127.0.0.1", port: server.port }),
    hasCode("address_unavailable", `${server.port}`),
  );
});
