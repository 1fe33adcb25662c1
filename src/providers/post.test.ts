import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import http, { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { limits } from "../domain/limits.ts";
import { post } from "./post.ts";

/** Starts a server that names no time for its connections. Returns its address, and the client's connections to it. */
async function served(t: TestContext): Promise<{ url: string; connections: Socket[] }> {
  const server = createServer((_incoming, outgoing) => outgoing.end("ok"));
  server.keepAliveTimeout = 0;
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const connections: Socket[] = [];
  const began = (message: unknown): void => {
    const { request } = message as { request: http.ClientRequest };
    request.once("socket", (socket) => connections.push(socket));
  };
  subscribe("http.client.request.created", began);
  t.after(() => unsubscribe("http.client.request.created", began));
  return { url: `http://127.0.0.1:${port}/`, connections };
}

async function ask(url: string): Promise<string> {
  const signal = new AbortController().signal;
  const { body } = await post(url, { method: "POST", headers: {}, body: "{}", signal, redirect: "manual" });
  return Buffer.concat(await Array.fromAsync(body ?? [])).toString();
}

test("[L2] a connection to a provider is kept until people have written their next instruction", async (t) => {
  const { url, connections } = await served(t);
  assert.equal(await ask(url), "ok");
  const [first] = connections;
  assert.ok(first !== undefined);
  // The agent takes the connection back after the answer was read.
  for (let round = 0; round < 10; round += 1) await nextRound();
  assert.equal(first.timeout, limits.providerConnectionMs);
  assert.equal(await ask(url), "ok");
  assert.equal(connections[1], first);
});

test("[L2] an agent that a program has put in the place of Node's own is used", async (t) => {
  const { url } = await served(t);
  const { globalAgent } = http;
  t.after(() => void (http.globalAgent = globalAgent));
  let asked = 0;
  class Proxying extends http.Agent {
    override createConnection(...given: Parameters<http.Agent["createConnection"]>) {
      asked += 1;
      return super.createConnection(...given);
    }
  }
  http.globalAgent = new Proxying();
  assert.equal(await ask(url), "ok");
  assert.ok(asked > 0);
});

/** Sends a request to a server that answers like this. Returns the body, and the server's side of it. */
async function bodyOf(t: TestContext, answer: (outgoing: ServerResponse) => void) {
  const answered = Promise.withResolvers<ServerResponse>();
  const server = createServer((_incoming, outgoing) => {
    answer(outgoing);
    answered.resolve(outgoing);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const signal = new AbortController().signal;
  const url = `http://127.0.0.1:${port}/`;
  const { body } = await post(url, { method: "POST", headers: {}, body: "{}", signal, redirect: "manual" });
  assert.ok(body !== null);
  return { pieces: body[Symbol.asyncIterator](), outgoing: await answered.promise };
}

test("[R5] a body is received no faster than it is read, and whole", async (t) => {
  let sent = 0;
  const body = function* () {
    for (; sent < 3_000; sent += 1) yield Buffer.alloc(10_000, 1);
  };
  const { pieces } = await bodyOf(t, (answering) => void Readable.from(body()).pipe(answering));
  let received = (await pieces.next()).value.length;
  // The system itself holds some megabytes of a connection.
  for (let still = 0, before = 0; still < 50; before = sent) {
    await nextRound();
    still = sent === before ? still + 1 : 0;
  }
  assert.ok(sent < 2_000, `${sent} pieces were sent`);
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) received += next.value.length;
  assert.equal(received, 30_000_000);
  assert.equal((await pieces.next()).done, true);
});

test("[C7] the pieces before a cut are given, then the error", async (t) => {
  const { pieces, outgoing } = await bodyOf(t, (answering) => void answering.write("one"));
  assert.equal(String(Buffer.from((await pieces.next()).value)), "one");
  outgoing.destroy();
  await assert.rejects(pieces.next(), { code: "ECONNRESET" });
  await assert.rejects(pieces.next(), { code: "ECONNRESET" });
});

test("[C7] a reader that needs no more ends the connection", async (t) => {
  const { pieces, outgoing } = await bodyOf(t, (answering) => void answering.write("one"));
  await pieces.next();
  await pieces.return?.();
  await once(outgoing, "close");
});
