/** Sessions for other agents, driven by the official client over HTTP and over standard input and output (O7). */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Client, StreamableHTTPClientTransport, type CallToolResult } from "@modelcontextprotocol/client";
import { cliWorld, type CliWorldOptions } from "../../../testing/cli.ts";
import type { Person, TestDoor, TestDoorOptions } from "../../../testing/http-door.ts";
import { mcpUrl, testMcpDoor } from "../../../testing/mcp-door.ts";
import { limits } from "../../domain/limits.ts";
import { type Script, scriptedProvider } from "../../providers/scripted/scripted.ts";
import { repositoriesOf, type Retriever } from "../../retrieval/retriever.ts";

interface McpTest extends TestDoor {
  /** `mode`: `legacy` clients speak the versions before 2026-07-28. */
  connect(person?: Person, mode?: "legacy" | "auto"): Promise<Client>;
}

async function testMcp(t: TestContext, options: TestDoorOptions = {}): Promise<McpTest> {
  const tested = await testMcpDoor(t, options);
  const { door } = tested;
  const connect: McpTest["connect"] = async ({ key } = tested.admin, mode = "legacy") => {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL(`${mcpUrl}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
      fetch: async (input, init) => await door.fetch(new Request(input, init)),
    });
    await client.connect(transport);
    t.after(() => client.close());
    return client;
  };
  return { ...tested, connect };
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: args })) as CallToolResult;
}

function textOf({ content }: CallToolResult): string {
  const [first] = content;
  return first?.type === "text" ? first.text : assert.fail("no text");
}

function factsOf({ structuredContent }: CallToolResult): Record<string, unknown> {
  return structuredContent as Record<string, unknown>;
}

test("[O7] another agent asks, continues, forks, searches, reads and compares", async (t) => {
  const { connect } = await testMcp(t, { script: (_call, n) => `answer ${n}` });
  const client = await connect();
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
    [
      ["search_sessions", true],
      ["list_sessions", true],
      ["read_session", true],
      ["read_turn", true],
      ["diff_turns", true],
      ["ask", false],
      ["continue_session", false],
      ["fork_session", false],
    ],
  );
  const first = await call(client, "ask", { instruction: "Where are prices rounded?", name: "Prices" });
  assert.equal(textOf(first), "answer 1");
  const { sessionId, turnId } = factsOf(first);
  const second = await call(client, "continue_session", { sessionId, instruction: "And shown?" });
  assert.equal(textOf(second), "answer 2");
  assert.equal(factsOf(second)["sessionId"], sessionId);
  const fork = await call(client, "fork_session", { turnId, instruction: "And stored?", name: "Other" });
  assert.equal(textOf(fork), "answer 3");
  assert.notEqual(factsOf(fork)["sessionId"], sessionId);
  const empty = await call(client, "fork_session", { turnId });
  assert.match(textOf(empty), /^Session \S+ continues turn /);

  assert.match(textOf(await call(client, "search_sessions", { words: "prices rounded" })), /Prices/);
  assert.match(textOf(await call(client, "search_sessions", { words: "nowhere" })), /No session contains/);
  assert.match(textOf(await call(client, "list_sessions")), /Other[^]*Prices/);
  const read = textOf(await call(client, "read_session", { sessionId, limit: 1 }));
  assert.match(read, /# Prices[^]*And shown\?[^]*answer 2/);
  assert.doesNotMatch(read, /answer 1/);
  const older = textOf(await call(client, "read_session", { sessionId, before: 2 }));
  assert.match(older, /Where are prices rounded\?[^]*answer 1/);
  assert.match(textOf(await call(client, "read_turn", { turnId })), /## Instruction[^]*rounded[^]*answer 1/);
  const diff = await call(client, "diff_turns", {
    turnId: factsOf(second)["turnId"],
    otherTurnId: factsOf(fork)["turnId"],
  });
  assert.match(textOf(diff), /share 1 turn;[^]*answer 2[^]*answer 3/);
});

test("[M7] [O7] an agent asks about several repositories: all are searched, and the session has them in order", async (t) => {
  const searched: string[][] = [];
  const retriever: Retriever = {
    search: async (query) => {
      searched.push(repositoriesOf(query).map(({ repo }) => repo));
      return [];
    },
    index: () => assert.fail("nothing is indexed here"),
    list: async () => [],
    close: async () => {},
  };
  const { connect, client: httpClient } = await testMcp(t, { retrievers: new Map([["local", retriever]]) });
  const client = await connect();
  const asked = await call(client, "ask", { instruction: "Where?", repo: "api", otherRepos: ["web", "lib"] });
  const sessionId = String(factsOf(asked)["sessionId"]);
  const { repo, otherRepos } = await httpClient().sessions.get(sessionId);
  assert.deepEqual([repo, otherRepos], ["api", ["web", "lib"]]);
  await call(client, "continue_session", { sessionId, instruction: "And shown?" });
  assert.deepEqual(searched, [
    ["api", "web", "lib"],
    ["api", "web", "lib"],
  ]);
  const twice = await call(client, "ask", { instruction: "Where?", repo: "api", otherRepos: ["api"] });
  assert.equal(factsOf(twice)["code"], "request_invalid");
});

test("[O7] an argument that is not known is refused, and the nearest one is named", async (t) => {
  const { connect } = await testMcp(t);
  const client = await connect();
  const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `${n}${"x".repeat(5_000)}`);
  const refused = await call(client, "read_session", { session_id: "x", limit: 1 });
  assert.equal(refused.isError, true);
  assert.match(textOf(refused), /session_id is not known; the nearest argument is sessionId/);
  const long = await call(client, "read_session", Object.fromEntries(names(40).map((name) => [name, 1])));
  assert.match(textOf(long), /^[^]*0x+… is not known[^]*and 30 more/);
  assert.ok(textOf(long).length < 2_000, `${textOf(long).length} characters`);
  const { tools } = await client.listTools();
  for (const { name, inputSchema } of tools) {
    assert.doesNotMatch(Object.keys(inputSchema.properties ?? {}).join(), /_/, name);
  }
});

test("[O7] an id that is none is refused by its name, and is never part of an address", async (t) => {
  const { connect } = await testMcp(t);
  const client = await connect();
  const calls: [tool: string, argument: string, more?: Record<string, unknown>][] = [
    ["read_session", "sessionId"],
    ["continue_session", "sessionId", { instruction: "x" }],
    ["read_turn", "turnId"],
    ["fork_session", "turnId"],
    ["diff_turns", "otherTurnId", { turnId: "01a20097-965c-71ff-a333-944162687189" }],
  ];
  for (const [tool, argument, more] of calls) {
    for (const id of ["", ".", "..", "a/b"]) {
      const refused = await call(client, tool, { ...more, [argument]: id });
      assert.equal(refused.isError, true);
      assert.match(
        textOf(refused),
        new RegExp(`is not an id[^]*${argument}|${argument}[^]*is not an id`),
        `${tool} ${id}`,
      );
    }
  }
  for (const id of [".", "..", "%2e%2e"]) {
    await assert.rejects(client.readResource({ uri: `aptove://sessions/${id}` }), /no id of a session|not found/i);
  }
});

test("[O7] sessions are resources", async (t) => {
  const { connect } = await testMcp(t, { script: () => "in cart.ts" });
  const client = await connect();
  const { sessionId } = factsOf(await call(client, "ask", { instruction: "Where?", name: "Cart" }));
  const { resources } = await client.listResources();
  assert.deepEqual(
    resources.map(({ uri, name, title }) => [uri, name, title]),
    [[`aptove://sessions/${String(sessionId)}`, "Cart", "Cart"]],
  );
  const { contents } = await client.readResource({ uri: `aptove://sessions/${String(sessionId)}` });
  assert.match(JSON.stringify(contents), /Where\?.*in cart\.ts/);
  await assert.rejects(client.readResource({ uri: "aptove://sessions/none" }), /not_found|invalid/i);
});

test("[O7] [H4] a key reaches what it reaches over HTTP: foreign sessions are not found, and without a key nothing is", async (t) => {
  const { connect, person, admin } = await testMcp(t);
  const client = await connect();
  const { sessionId, turnId } = factsOf(await call(client, "ask", { instruction: "secret" }));
  const stranger = await connect(await person("member"));
  const missing = "01a20097-965c-71ff-a333-944162687189";
  const calls: [string, (id: unknown) => Record<string, unknown>][] = [
    ["read_session", (id) => ({ sessionId: id })],
    ["continue_session", (id) => ({ sessionId: id, instruction: "x" })],
    ["read_turn", (id) => ({ turnId: id })],
    ["fork_session", (id) => ({ turnId: id })],
    ["diff_turns", (id) => ({ turnId: id, otherTurnId: id })],
  ];
  for (const [name, argsOf] of calls) {
    const id = name.includes("session") && name !== "fork_session" ? sessionId : turnId;
    const [foreign, absent] = await Promise.all([id, missing].map((one) => call(stranger, name, argsOf(one))));
    assert.equal(foreign?.isError, true, name);
    assert.equal(factsOf(foreign)["code"], "not_found", name);
    const same = (result: CallToolResult | undefined) =>
      textOf(result ?? assert.fail()).replaceAll(/[0-9a-f-]{36}/g, "ID");
    assert.equal(same(foreign), same(absent), name);
  }
  assert.match(textOf(await call(stranger, "list_sessions")), /no session/);
  const reader = await connect(await person("reader"));
  assert.equal(factsOf(await call(reader, "ask", { instruction: "x" }))["code"], "forbidden");
  await assert.rejects(connect({ ...admin, key: "aptove_wrong" }));
});

test("[O7] a failed turn is an error with its code, bad arguments are refused, and long texts are cut", async (t) => {
  const { connect } = await testMcp(t, {
    script: (_call, n) => (n === 1 ? [{ fails: "provider_rejected" }] : "long ".repeat(20_000)),
  });
  const client = await connect();
  const failed = await call(client, "ask", { instruction: "one" });
  assert.equal(failed.isError, true);
  assert.match(textOf(failed), /^provider_rejected: /);
  assert.equal(typeof factsOf(failed)["turnId"], "string");
  for (const args of [{}, { instruction: 1 }, { instruction: "" }]) {
    assert.equal((await call(client, "ask", args)).isError, true, JSON.stringify(args));
  }
  const long = await call(client, "ask", { instruction: "two" });
  assert.match(textOf(long), /\[40000 more characters are left out here\]$/);
  const { turnId, sessionId } = factsOf(long);
  const rest = textOf(await call(client, "read_turn", { turnId, from: 90_000 }));
  assert.match(rest, /## Answer from character 90000[^]*long $/);
  assert.ok(textOf(await call(client, "read_session", { sessionId })).length < 61_000);
});

test(
  "[O7] [T10] progress is reported while a turn runs, and a caller that cancels interrupts it",
  { timeout: 10_000 },
  async (t) => {
    const begun = Promise.withResolvers<void>();
    const { connect, engine, admin } = await testMcp(t, {
      script: () => [{ says: ["one ", new Promise<void>(() => {})] }],
    });
    const client = await connect(admin, "auto");
    const messages: string[] = [];
    const leaving = new AbortController();
    const asked = client.callTool(
      { name: "ask", arguments: { instruction: "wait" } },
      {
        signal: leaving.signal,
        onprogress: ({ message }) => {
          messages.push(message ?? "");
          if (message === "the model answers") begun.resolve();
        },
      },
    );
    asked.catch(() => undefined);
    await begun.promise;
    leaving.abort();
    await assert.rejects(asked);
    assert.deepEqual(messages.slice(0, 2), ["the turn runs", "the model answers"]);
    const { sessions } = await engine.sessions.list(admin, { limit: 1 });
    const sessionId = sessions[0]?.id ?? assert.fail();
    const [turn] = await engine.turns.list(admin, sessionId, { limit: 1 });
    const events = await engine.turns.events(admin, turn?.id ?? assert.fail(), { afterSeq: 0 });
    for await (const { event } of events)
      if (event.type === "run_finished") assert.equal(event.stopReason, "interrupted");
  },
);

test(
  "[O7] [R5] a client of an older version gets progress too; a turn that it no longer waits for goes on",
  { timeout: 10_000 },
  async (t) => {
    const held = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const { connect, engine, admin } = await testMcp(t, { script: () => [{ says: ["one ", held.promise, "two"] }] });
    const client = await connect();
    const asked = client.callTool(
      { name: "ask", arguments: { instruction: "wait" } },
      { onprogress: ({ message }) => void (message === "the model answers" && begun.resolve()) },
    );
    asked.catch(() => undefined);
    await begun.promise;
    await client.close();
    await assert.rejects(asked);
    const { sessions } = await engine.sessions.list(admin, { limit: 1 });
    const [turn] = await engine.turns.list(admin, sessions[0]?.id ?? assert.fail(), { limit: 1 });
    assert.equal(turn?.status, "pending");
    held.resolve();
    const ends: unknown[] = [];
    for await (const { event } of await engine.turns.events(admin, turn.id, { afterSeq: 0 }))
      if (event.type === "run_finished") ends.push(event.stopReason);
    assert.deepEqual(ends, ["stop"]);
  },
);

test("[O7] [L1] mcp serve answers on standard output with nothing else, and ends with its client", async (t) => {
  const world = await cliWorld(t);
  const serving = world.start(["mcp", "serve"]);
  const send = (message: object): void =>
    void serving.input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const clientInfo = { name: "test", version: "1" };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  await serving.saw('"id":1');
  send({ method: "notifications/initialized" });
  send({
    id: 2,
    method: "tools/call",
    params: { name: "ask", arguments: { instruction: "Where?", name: "Over MCP" } },
  });
  await serving.saw('"id":2');
  serving.input.end();
  const { exit, stdout } = await serving.finished;
  assert.equal(exit, 0);
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { jsonrpc: string });
  assert.ok(lines.every(({ jsonrpc }) => jsonrpc === "2.0"));
  const listed = await world.run(["session", "list"]);
  assert.match(listed.stdout, /Over MCP/);
});

/** Begins `mcp serve` and sends it lines. `answers` are the messages that it has written. */
async function served(t: TestContext, options: CliWorldOptions = {}) {
  const world = await cliWorld(t, options);
  const serving = world.start(["mcp", "serve"]);
  const send = (line: string): void => void serving.input.write(`${line}\n`);
  const request = (id: unknown, method: string, params: object = {}): void =>
    send(JSON.stringify({ method, params, jsonrpc: "2.0", id }));
  const clientInfo = { name: "test", version: "1" };
  request(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  await serving.saw('"id":1');
  send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  const answers = (): Answer[] =>
    serving
      .output()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Answer);
  return { serving, send, request, answers };
}

interface Answer {
  id: unknown;
  result?: CallToolResult;
  error?: { code: number; message: string };
}

test("[O7] mcp serve answers what was asked before its client closed its end", async (t) => {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const script: Script = () => {
    begun.resolve();
    return [{ says: ["in ", held.promise, "cart.ts"] }];
  };
  const providers = [scriptedProvider({ name: "offline", script })];
  const { serving, request, answers } = await served(t, { providers });
  request(2, "tools/call", { name: "ask", arguments: { instruction: "Where?" } });
  await begun.promise;
  serving.input.end();
  held.resolve();
  assert.equal((await serving.finished).exit, 0);
  assert.match(textOf(answers().find(({ id }) => id === 2)?.result ?? assert.fail("no answer")), /in cart\.ts/);
});

test("[O7] mcp serve answers an invalid line with an error, reports it in one line, and continues", async (t) => {
  const { serving, send, request, answers } = await served(t);
  const tooLong = "x".repeat(limits.mcpMessageBytesMax);
  const lines = ["{bad", "[]", "null", '{"jsonrpc":"2.0","id":2}', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}'];
  for (const line of lines) send(line);
  send('{"jsonrpc":"2.0","id":9,"result":7}');
  send(`{"method":"x","params":{"a":"${tooLong}"},"jsonrpc":"2.0","id":"last"}`);
  send(`{"jsonrpc":"2.0","id":"first","method":"x","params":{"a":"${tooLong}"}}`);
  request("end", "ping");
  await serving.saw('"id":"end"');
  serving.input.end();
  const { exit, stderr } = await serving.finished;
  assert.equal(exit, 0);
  assert.deepEqual(
    answers().map(({ id, error }) => [id, error?.code]),
    [
      [1, undefined],
      [null, -32_700],
      [null, -32_600],
      [null, -32_600],
      [2, -32_600],
      [1.5, -32_600],
      ["last", -32_600],
      ["first", -32_600],
      ["end", undefined],
    ],
  );
  assert.equal(stderr.trimEnd().split("\n").length, 8, stderr);
});

test("[O7] [L1] mcp serve in a terminal says that it waits for a client", async (t) => {
  const world = await cliWorld(t);
  const serving = world.start(["mcp", "serve"], { isTerminal: true });
  await serving.saw("waiting for an MCP client on standard input");
  serving.signals.emit("SIGINT");
  assert.equal((await serving.finished).exit, 0);
});
