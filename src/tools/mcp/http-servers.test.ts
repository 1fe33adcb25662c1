/** Servers over HTTP, including hostile ones (P5). */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { fakeMcp, textResult, send, sendEvent } from "../../../testing/fake-mcp-server.ts";
import { mcpWorld, until } from "../../../testing/mcp-world.ts";
import type { McpServer } from "../session-tools.ts";

function at(url: string, more: { headers?: Record<string, string>; timeMs?: number } = {}): McpServer {
  return { type: "http", name: "web", url, headers: {}, timeMs: 20_000, ...more };
}

test("[P5] a server gets the newest protocol first, its headers with every request, and the end of its session", async (context) => {
  const fake = await fakeMcp(context, { call: ({ id }, response) => send(response, textResult(id, "hello")) });
  const world = mcpWorld(context, [at(fake.url, { headers: { Authorization: "Bearer abcdef" } })]);
  assert.deepEqual(await world.call("web__ask"), { output: "hello", isError: false });
  await fake.standing;
  await world.mcp.close();
  const [first, second, third, ...rest] = fake.methods;
  assert.deepEqual([first, second, third], ["server/discover", "initialize", "notifications/initialized"]);
  assert.deepEqual(rest.toSorted(), ["DELETE", "GET", "tools/call", "tools/list"]);
  for (const headers of fake.headers) assert.equal(headers.authorization, "Bearer abcdef");
});

test("[P5] responses in a stream are accepted in any order", async (context) => {
  const waiting: (() => void)[] = [];
  const fake = await fakeMcp(context, {
    call: ({ id, params }, response) => {
      waiting.push(() => {
        sendEvent(response, textResult(id, JSON.stringify(params?.["arguments"])));
        response.end();
      });
      if (waiting.length === 3) for (const answer of waiting.toReversed()) answer();
    },
  });
  const world = mcpWorld(context, [at(fake.url)]);
  const results = await Promise.all([1, 2, 3].map((n) => world.call("web__ask", { n })));
  assert.deepEqual(
    results.map(({ output }) => output),
    ['{"n":1}', '{"n":2}', '{"n":3}'],
  );
});

type Answer = Parameters<typeof fakeMcp>[1]["call"];

const failures: [name: string, answer: Answer, words: RegExp][] = [
  ["says nothing", () => undefined, /gave no result within 1 s$/],
  [
    "begins a stream and says nothing",
    (_request, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
    /gave no result within 1 s$/,
  ],
  ["cuts the connection", (_request, response) => void response.destroy(), /cannot be reached \(UND_ERR_SOCKET\)$/],
  [
    "ends a stream without an answer",
    (_request, response) => (sendEvent(response, { method: "notifications/message" }), response.end()),
    /the stream ended without the response/,
  ],
  [
    "cuts a stream",
    (_request, response) => (
      sendEvent(response, { method: "notifications/message" }),
      setImmediate(() => response.destroy())
    ),
    /the stream ended without the response/,
  ],
  [
    "gives a wrong id",
    ({ id }, response) => (sendEvent(response, textResult(Number(id) + 1_000, "x")), response.end()),
    /the stream ended without the response/,
  ],
  [
    "gives no JSON",
    (_request, response) => void response.writeHead(200, { "content-type": "application/json" }).end("{"),
    /failed: /,
  ],
  [
    "gives a page",
    (_request, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>"),
    /Unexpected content type: text\/html/,
  ],
  [
    "gives a wrong result",
    ({ id }, response) => send(response, { id, result: { content: 7 } }),
    /sends a response that is not valid/,
  ],
  ["refuses", (_request, response) => void response.writeHead(403).end(), /refuses the authorization \(HTTP 403\)$/],
  [
    "breaks",
    (_request, response) => void response.writeHead(500).end("no room for Bearer abcdef-123456"),
    /responds with HTTP 500: no room for \*\*\*$/,
  ],
  [
    "sends elsewhere",
    (_request, response) => void response.writeHead(307, { location: "http://example.org/" }).end(),
    /HTTP 307: .*not followed/i,
  ],
  [
    "sends too much",
    ({ id }, response) => send(response, textResult(id, "x".repeat(20_000_000))),
    /sent a message of more than 16777216 bytes$/,
  ],
  [
    "streams too much",
    ({ id }, response) => sendEvent(response, textResult(id, "x".repeat(20_000_000))),
    /sent a message of more than 16777216 bytes$/,
  ],
];

for (const [name, answer, words] of failures) {
  test(`[P5] a server that ${name} gives an error to the model`, async (context) => {
    const fake = await fakeMcp(context, { call: answer });
    const timeMs = words.source.includes("gave no result") ? 1_000 : 20_000;
    const world = mcpWorld(context, [at(fake.url, { timeMs, headers: { Authorization: "Bearer abcdef-123456" } })]);
    const { output, isError } = await world.call("web__ask");
    assert.match(output, words);
    assert.equal(isError, true);
    assert.equal(output.length < 1_000, true);
  });
}

test("[P5] a server that lost its session is connected again, once", async (context) => {
  let lost = 0;
  const fake = await fakeMcp(context, {
    call: ({ id }, response) => {
      lost += 1;
      if (lost === 2) send(response, textResult(id, "hello again"));
      else response.writeHead(404).end("Session not found");
    },
  });
  const world = mcpWorld(context, [at(fake.url)]);
  assert.deepEqual(await world.call("web__ask"), { output: "hello again", isError: false });
  assert.equal(fake.methods.filter((method) => method === "initialize").length, 2);
  assert.match((await world.call("web__ask")).output, /responds with HTTP 404: Session not found$/);
  assert.equal(lost, 4);
});

test("[P5] a changed list of tools is used in the next call, and endless change notices are read at a limited rate", async (context) => {
  const tools = ["one"];
  const fake = await fakeMcp(context, {
    call: ({ id }, response) => send(response, textResult(id, "hello")),
    tools: () => tools.map((name) => ({ name, inputSchema: { type: "object" } })),
  });
  const world = mcpWorld(context, [at(fake.url)]);
  assert.deepEqual(await world.names(), ["web__one"]);
  const stream = await fake.standing;
  tools.push("two");
  for (let count = 0; count < 1_000; count += 1) sendEvent(stream, { method: "notifications/tools/list_changed" });
  await until(async () => (await world.names()).length === 2);
  assert.deepEqual(await world.names(), ["web__one", "web__two"]);
  // The list is read once at a time, and only when it is needed.
  assert.equal(fake.methods.filter((method) => method === "tools/list").length < 50, true);
});

test("[P5] a stopped call is cancelled, and its connection is closed", async (context) => {
  const stop = new AbortController();
  let isClosed = false;
  const fake = await fakeMcp(context, {
    call: (_request, response) => {
      response.once("close", () => (isClosed = true));
      sendEvent(response, { method: "notifications/message" });
      stop.abort();
    },
  });
  const world = mcpWorld(context, [at(fake.url)]);
  const { output } = await world.call("web__ask", {}, { signal: stop.signal });
  assert.equal(output, 'failed: the MCP server "web" was interrupted');
  await until(() => isClosed && fake.methods.includes("notifications/cancelled"));
});

test("[P5] a server that is unreachable or refuses the key is a warning, and its tools appear once it is fixed", async (context) => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  let isOpen = false;
  const fake = await fakeMcp(context, {
    before: (_request, response) => {
      if (!isOpen) response.writeHead(401).end("who are you, abcdef-123456?");
      return !isOpen;
    },
    call: ({ id }, response) => send(response, textResult(id, "hello")),
  });
  let now = 0;
  const locked = { ...at(fake.url, { headers: { "X-Key": "abcdef-123456" } }), name: "locked" };
  const closedUrl = `http://127.0.0.1:${port}/mcp`;
  const older: McpServer = { type: "sse", name: "older", url: closedUrl, headers: {} };
  const world = mcpWorld(context, [at(closedUrl), locked, older], { now: () => now });
  assert.deepEqual(await world.names(), []);
  assert.deepEqual(world.mcp.warnings(), [
    'the MCP server "web" cannot be reached (ECONNREFUSED)',
    'the MCP server "locked" refuses the authorization (HTTP 401)',
    'the MCP server "older" cannot be reached (ECONNREFUSED)',
  ]);
  isOpen = true;
  now += 60_000;
  await world.names();
  await until(() => world.mcp.status()[1]?.state === "ready");
  assert.deepEqual(await world.names(), ["locked__ask"]);
});

test("[P5] a server's address must be http or https", async (context) => {
  const world = mcpWorld(context, [at("file:///etc/passwd"), { ...at("nonsense"), name: "none" }]);
  assert.deepEqual(await world.names(), []);
  assert.equal(world.mcp.warnings().length, 2);
  for (const line of world.mcp.warnings()) assert.match(line, /has no address with http or https/);
});
