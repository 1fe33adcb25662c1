/** The requirements of the official ACP conformance suite (acp-tck, profile v1), each by its id. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { requestErrorOf } from "../../../testing/acp/request-error.ts";
import type { AnyMessage, ContentBlock, InitializeResponse, SessionUpdate } from "@agentclientprotocol/sdk";
import { acpTest, type ConnectOptions, type TestConnection } from "../../../testing/acp/acp-test.ts";
import type { Script } from "../../providers/scripted/scripted.ts";

async function connected(t: TestContext, script?: Script, options?: ConnectOptions): Promise<TestConnection> {
  const { connect } = await acpTest(t, script === undefined ? {} : { script });
  return await connect(options);
}

/** Streams one word, and the rest when the promise resolves. */
const slow =
  (until: Promise<unknown>): Script =>
  () => [{ says: ["one ", until, "two"] }];

function answerTo(connection: TestConnection, method: string): AnyMessage & { result?: unknown; error?: unknown } {
  const asked = connection.sent.find(({ message }) => "method" in message && message.method === method);
  const id =
    asked !== undefined && "id" in asked.message
      ? asked.message.id
      : assert.fail(`the agent did not request ${method}`);
  const answer = connection.sent.find(({ by, message }) => {
    return by === "agent" && !("method" in message) && "id" in message && message.id === id;
  });
  return answer?.message ?? assert.fail(`${method} was not answered`);
}

test("[P1] INIT-001 INIT-002 INIT-004 version 1 is answered with 1, and the agent names itself", async (t) => {
  const connection = await connected(t);
  const { result } = answerTo(connection, "initialize");
  const { protocolVersion, agentInfo, agentCapabilities } = result as InitializeResponse;
  assert.equal(protocolVersion, 1);
  assert.deepEqual(agentInfo, { name: "aptove", title: "aptove", version: "test" });
  assert.deepEqual(agentCapabilities?._meta, { "aptove.dev": { deviceBinding: true } });
});

test("[P1] INIT-003 an unknown version is answered with version 1", async (t) => {
  const connection = await connected(t, undefined, { initializes: false });
  for (const protocolVersion of [65_535, 0, 2]) {
    const params = { protocolVersion, info: { name: "later", version: "9" }, clientCapabilities: {} };
    const answer = await connection.agent.request<InitializeResponse>("initialize", params);
    assert.equal(answer.protocolVersion, 1);
  }
});

test("[P1] a request before initialize is refused, and the connection continues", async (t) => {
  const connection = await connected(t, undefined, { initializes: false });
  assert.equal((await requestErrorOf(connection.begin())).code, -32600);
  await connection.agent.request("initialize", { protocolVersion: 1 });
  assert.ok((await connection.begin()).sessionId);
});

test("[P1] SESSION-001 SESSION-002 every session/new has an id of its own", async (t) => {
  const connection = await connected(t);
  const ids = [await connection.begin(), await connection.begin()].map(({ sessionId }) => sessionId);
  assert.notEqual(ids[0], ids[1]);
});

test("[P1] PROMPT-001 PROMPT-002 PROMPT-003 a prompt ends with a stop reason, and its updates are of its session", async (t) => {
  const connection = await connected(t, () => "hello");
  const [{ sessionId }, other] = [await connection.begin(), await connection.begin()];
  const link = { type: "resource_link" as const, uri: "https://example.org/spec", name: "spec" };
  const answer = await connection.prompt(sessionId, [{ type: "text", text: "read " }, link]);
  assert.equal(answer.stopReason, "end_turn");
  assert.equal(connection.text(sessionId), "hello");
  assert.equal(connection.text(other.sessionId), "");
});

test("[P4] CANCEL-001 CANCEL-002 a cancelled prompt resolves cancelled, and nothing follows it", async (t) => {
  const held = Promise.withResolvers<void>();
  const connection = await connected(t, slow(held.promise));
  const { sessionId } = await connection.begin();
  const prompt = connection.prompt(sessionId, "go");
  await connection.until(() => connection.text(sessionId) === "one ");
  await connection.agent.notify("session/cancel", { sessionId });
  assert.equal((await prompt).stopReason, "cancelled");
  const seen = connection.updates(sessionId).length;
  held.resolve();
  assert.equal((await connection.prompt(sessionId, "again")).stopReason, "end_turn");
  const [next] = connection.updates(sessionId).slice(seen);
  assert.equal(next?.sessionUpdate, "agent_message_chunk");
  assert.equal(connection.text(sessionId), "one one two");
});

test("[P1] CONFIG-001 CONFIG-002 CONFIG-003 every option is a choice, and setting one gives all of them back", async (t) => {
  const connection = await connected(t);
  const { sessionId, configOptions } = await connection.begin();
  assert.deepEqual(
    configOptions?.map(({ id, type, category }) => [id, type, category]),
    [
      ["mode", "select", "mode"],
      ["model", "select", "model"],
      ["effort", "select", "thought_level"],
    ],
  );
  const set = await connection.agent.request("session/set_config_option", {
    sessionId,
    configId: "mode",
    value: "ask",
  });
  assert.deepEqual(
    set.configOptions.map((option) => [option.id, option.currentValue]),
    [
      ["mode", "ask"],
      ["model", "scripted-1"],
      ["effort", "default"],
    ],
  );
  for (const [configId, value] of [
    ["mode", "nonsense"],
    ["model", "nonsense"],
    ["effort", "nonsense"],
    ["nonsense", "ask"],
  ] as const) {
    const request = connection.agent.request("session/set_config_option", { sessionId, configId, value });
    assert.equal((await requestErrorOf(request)).code, -32602);
  }
});

test("[P1] MODES-001 MODES-002 the modes are offered, and setting one holds for the next prompt", async (t) => {
  const { connect, aptove } = await acpTest(t);
  const connection = await connect();
  const { sessionId, modes } = await connection.begin();
  assert.equal(modes?.currentModeId, "edit");
  assert.deepEqual(
    modes.availableModes.map(({ id }) => id),
    ["ask", "edit", "accept-edits", "plan"],
  );
  assert.deepEqual(await connection.agent.request("session/set_mode", { sessionId, modeId: "ask" }), {});
  assert.equal(
    (await requestErrorOf(connection.agent.request("session/set_mode", { sessionId, modeId: "no" }))).code,
    -32602,
  );
  const { _meta } = await connection.prompt(sessionId, "hi");
  const owner = await aptove.engine.keys.owner();
  assert.equal((await aptove.engine.turns.get(owner, String(_meta?.["aptove.dev/turnId"]))).mode, "ask");
});

test("[P1] AUTH-001 AUTH-002 no method for a terminal is offered to a client without one, and nothing is refused while a provider answers", async (t) => {
  const connection = await connected(t);
  const { authMethods } = answerTo(connection, "initialize").result as { authMethods: { id: string }[] };
  assert.deepEqual(
    authMethods.map((method) => [method.id, "type" in method]),
    [["provider-key", false]],
  );
  assert.equal((await requestErrorOf(connection.agent.request("authenticate", { methodId: "x" }))).code, -32602);
  assert.deepEqual(await connection.agent.request("authenticate", { methodId: "provider-key" }), {});
  assert.equal((await requestErrorOf(connection.agent.request("logout", {}))).code, -32601);
  assert.ok((await connection.begin()).sessionId);
});

test("[P4] CLIENTCAP-001 CLIENTCAP-002 CLIENTCAP-003 what the client did not offer is never requested", async (t) => {
  const connection = await connected(t, (_call, n) =>
    n === 1
      ? [
          { calls: "write", with: { path: "a.txt", content: "a\n" } },
          { calls: "read", with: { path: "a.txt" } },
          { calls: "run", with: { command: "cat a.txt" } },
        ]
      : "done",
  );
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, "do it")).stopReason, "end_turn");
  const asked = connection.sent.flatMap(({ by, message }) =>
    by === "agent" && "method" in message && "id" in message ? [message.method] : [],
  );
  assert.deepEqual([...new Set(asked)], ["session/request_permission"]);
  const ended = connection
    .updates(sessionId)
    .flatMap((update) => (update.sessionUpdate === "tool_call_update" ? [update.status] : []));
  assert.equal(ended.filter((status) => status === "completed").length, 3);
});

test("[P1] EXT-001 JSONRPC-004 META-001 unknown methods are answered, unknown notifications are not", async (t) => {
  const connection = await connected(t);
  for (const method of ["_example.org/do", "session/teleport"]) {
    assert.equal((await requestErrorOf(connection.agent.request(method, {}))).code, -32601);
  }
  await connection.agent.notify("_example.org/tell", { a: 1 });
  await connection.agent.notify("session/cancel", { sessionId: "unknown" });
  const traced = { _meta: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" } };
  const { sessionId } = await connection.begin(traced);
  const prompt: ContentBlock[] = [{ type: "text", text: "hi" }];
  const answer = await connection.agent.request("session/prompt", { sessionId, prompt, ...traced });
  assert.equal(answer.stopReason, "end_turn");
});

test("[P1] JSONRPC-005 ERROR-001 a refusal is one line with a code of aptove, and the connection continues", async (t) => {
  const connection = await connected(t);
  const sessionId = "01a20138-21be-7248-9d4a-90620d0f3c3d";
  for (const request of [
    connection.prompt(sessionId, "hi"),
    connection.load(sessionId),
    connection.load("..\n/etc"),
    connection.agent.request("session/set_mode", { sessionId, modeId: "ask" }),
  ]) {
    const { code, message, data } = await requestErrorOf(request);
    assert.equal(code, -32002);
    assert.equal((data as { code: string }).code, "not_found");
    assert.doesNotMatch(message, /\n/);
  }
  const wrong = connection.agent.request("session/new", { cwd: 1 } as never);
  assert.equal((await requestErrorOf(wrong)).code, -32602);
  assert.ok((await connection.begin()).sessionId);
});

test("[P4] LOAD-001 LOAD-002 LOAD-003 the whole conversation is replayed before the response, and nothing after it", async (t) => {
  const { connect } = await acpTest(t, { script: (_call, n) => `answer ${n}` });
  const first = await connect();
  const { sessionId } = await first.begin();
  await first.prompt(sessionId, "one");
  await first.prompt(sessionId, "two");
  await first.leave();
  const second = await connect();
  const loaded = await second.load(sessionId);
  assert.deepEqual(
    second.updates(sessionId).flatMap((update) => textOf(update)),
    [
      "user_message_chunk one",
      "agent_message_chunk answer 1",
      "user_message_chunk two",
      "agent_message_chunk answer 2",
    ],
  );
  assert.equal(loaded.modes?.currentModeId, "edit");
  await second.agent.request("session/list", {});
  const answer = answerTo(second, "session/load");
  const answered = second.sent.findIndex(({ message }) => message === answer);
  const after = second.sent
    .slice(answered)
    .filter(({ message }) => "method" in message && message.method === "session/update");
  assert.deepEqual(after, []);
});

function textOf(update: SessionUpdate): string[] {
  if (!("content" in update) || Array.isArray(update.content) || update.content?.type !== "text") return [];
  return [`${update.sessionUpdate} ${update.content.text}`];
}

test("[P4] RESUME-001 RESUME-002 a resumed session continues, and nothing of it is replayed", async (t) => {
  const { connect, provider } = await acpTest(t);
  const first = await connect();
  const { sessionId } = await first.begin();
  await first.prompt(sessionId, "remember heron");
  await first.leave();
  const second = await connect();
  const { cwd } = (await second.agent.request("session/list", {})).sessions[0] ?? assert.fail("it is not listed");
  await second.agent.request("session/resume", { sessionId, cwd });
  assert.equal(second.text(sessionId), "");
  await second.prompt(sessionId, "which word?");
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.context), /remember heron/);
  assert.equal(second.text(sessionId), "answer 2");
});

test("[P1] LIST-001 LIST-002 sessions are listed with their folders, and a folder without one has an empty list", async (t) => {
  const { connect, project } = await acpTest(t);
  const connection = await connect();
  const other = join(project, "other");
  mkdirSync(other);
  const ids = [await connection.begin(), await connection.begin({ cwd: other })].map(({ sessionId }) => sessionId);
  const listed = await connection.agent.request("session/list", {});
  assert.deepEqual(new Set(listed.sessions.map(({ sessionId }) => sessionId)), new Set(ids));
  const here = await connection.agent.request("session/list", { cwd: other });
  assert.deepEqual(
    here.sessions.map(({ sessionId, cwd }) => [sessionId, cwd]),
    [[ids[1], other]],
  );
  assert.deepEqual(await connection.agent.request("session/list", { cwd: "/nowhere" }), { sessions: [] });
  assert.equal((await requestErrorOf(connection.agent.request("session/list", { cursor: "x" }))).code, -32602);
});

test("[P1] DELETE-001 DELETE-002 a deleted session is gone from the list, and may be deleted again", async (t) => {
  const connection = await connected(t);
  const { sessionId } = await connection.begin();
  for (const id of [sessionId, sessionId, "never there"]) {
    assert.deepEqual(await connection.agent.request("session/delete", { sessionId: id }), {});
  }
  assert.deepEqual((await connection.agent.request("session/list", {})).sessions, []);
  assert.equal((await requestErrorOf(connection.prompt(sessionId, "hi"))).code, -32002);
});

test("[P1] CLOSE-001 CLOSE-002 closing cancels the prompt that runs, and the session can be loaded again", async (t) => {
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const connection = await connected(t, slow(held.promise));
  const { sessionId } = await connection.begin();
  const prompt = connection.prompt(sessionId, "go");
  await connection.until(() => connection.text(sessionId) === "one ");
  const closed = connection.agent.request("session/close", { sessionId });
  assert.equal((await prompt).stopReason, "cancelled");
  assert.deepEqual(await closed, {});
  assert.equal((await requestErrorOf(connection.prompt(sessionId, "more"))).code, -32002);
  await connection.load(sessionId);
  held.resolve();
  assert.equal((await connection.prompt(sessionId, "more")).stopReason, "end_turn");
});

test("[P1] ADDDIRS-001 tools reach the additional folders of a session, and its list names them", async (t) => {
  const { connect, project } = await acpTest(t, {
    script: (_call, n) =>
      n === 1 ? [{ calls: "write", with: { path: join("..", "more", "a.txt"), content: "a" } }] : "ok",
  });
  const more = join(project, "..", "more");
  mkdirSync(more);
  const connection = await connect();
  const { sessionId } = await connection.begin({ additionalDirectories: [more] });
  await connection.prompt(sessionId, "write");
  const results = connection.updates(sessionId).filter((update) => "status" in update && update.status === "completed");
  assert.equal(results.length, 1);
  const [listed] = (await connection.agent.request("session/list", {})).sessions;
  assert.deepEqual(listed?.additionalDirectories, [more]);
});

test("[P1] PROMPTCAP-001 PROMPTCAP-002 PROMPTCAP-003 what the model cannot see and sound are refused by name, embedded text is taken", async (t) => {
  const { connect, provider } = await acpTest(t);
  const connection = await connect();
  const { sessionId } = await connection.begin();
  const data = Buffer.from("x").toString("base64");
  const png = Buffer.from("89504e470d0a1a0a", "hex").toString("base64");
  for (const [block, words] of [
    [{ type: "image" as const, data: png, mimeType: "image/png" }, /takes text$/],
    [{ type: "audio" as const, data, mimeType: "audio/wav" }, /send text/],
  ] as const) {
    const { code, message } = await requestErrorOf(connection.prompt(sessionId, [block]));
    assert.equal(code, -32602);
    assert.match(message, words);
  }
  await connection.prompt(sessionId, [{ type: "resource", resource: { uri: "file:///a.bin", blob: data } }]);
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.context), /Name: a\.bin/);
  const resource = { uri: "untitled:1", text: "let heron = 1;" };
  await connection.prompt(sessionId, [{ type: "resource", resource }]);
  assert.match(JSON.stringify(provider.exchanges.at(-1)?.context), /let heron = 1;/);
});
