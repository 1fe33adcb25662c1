/** ACP over WebSockets and HTTP: on real sockets, with the SDK's clients (P3). */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { memoryRecords } from "../../../records/memory/memory-records.ts";
import { remoteTest, type RemoteConnection, type RemoteTest } from "../../../../testing/acp/remote-test.ts";
import { remoteErrorOf } from "../../../../testing/acp/request-error.ts";

const transports = ["overSocket", "overHttp"] as const;

/** The message of the agent's refusal. */
async function ask(connection: RemoteConnection, text: string): Promise<string> {
  const { sessionId } = await connection.begin();
  assert.equal((await connection.prompt(sessionId, text)).stopReason, "end_turn");
  return sessionId;
}

for (const transport of transports) {
  test(`[P3] ${transport}: a device begins a session, is asked before anything is written, and sees the answer`, async (t) => {
    const remote = await remoteTest(t, {
      script: (_call, n) =>
        n === 1 ? [{ calls: "write", with: { path: "note.txt", content: "hello" } }] : "it is written",
    });
    const phone = await remote.device(remote.admin, { deviceId: "pixel-7" });
    const connection = await remote[transport]({ as: phone });
    await ask(connection, "write it");
    assert.equal(connection.text(), "it is written");
    assert.equal(connection.asked.length, 1);
    const [session] = (await remote.client(phone).sessions.list()).sessions;
    assert.equal(session?.userId, remote.admin.caller.userId);
  });
}

test("[P3] [R5] one session: started on a WebSocket, continued over HTTP, loaded again over ACP on HTTP", async (t) => {
  const remote = await remoteTest(t, { script: (_call, n) => `answer ${n}` });
  const phone = await remote.device(remote.admin);
  const socket = await remote.overSocket({ as: phone });
  const sessionId = await ask(socket, "first");
  socket.close();
  const second = await remote.client(remote.admin).execute({ sessionId, instruction: "second" });
  assert.equal(second.text, "answer 2");
  const http = await remote.overHttp({ as: phone });
  await http.load(sessionId);
  const texts = http.updates.flatMap((update) =>
    (update.sessionUpdate === "user_message_chunk" || update.sessionUpdate === "agent_message_chunk") &&
    update.content.type === "text"
      ? [update.content.text]
      : [],
  );
  assert.equal(texts.join("|").replaceAll(" |", " "), "first|answer 1|second|answer 2");
  await http.prompt(sessionId, "third");
  assert.match(http.text(), /answer 3$/);
});

test("[P3] [W2] [W3] a phone that shares the editor's workspace continues its conversation; another phone begins its own", async (t) => {
  const remote = await remoteTest(t, { aptove: { records: memoryRecords() }, script: (_call, n) => `answer ${n}` });
  const editor = await remote.overSocket({ as: remote.admin });
  const begun = await editor.begin();
  await editor.prompt(begun.sessionId, "sent in the editor");
  const workspaceId = String(begun._meta?.["aptove.dev/workspaceId"]);

  const sharing = await remote.overHttp({ as: await remote.device(remote.admin, { workspaceId }) });
  await ask(sharing, "sent on the phone");
  const seen = JSON.stringify(remote.provider.exchanges.at(-1)?.context);
  for (const text of ["sent in the editor", "answer 1", "sent on the phone"]) assert.ok(seen.includes(text), seen);
  const { sessions } = await sharing.agent.request("session/list", {});
  assert.ok(sessions.some(({ sessionId }) => sessionId === begun.sessionId));

  await ask(await remote.overHttp({ as: await remote.device(remote.admin) }), "sent on the other");
  assert.ok(!JSON.stringify(remote.provider.exchanges.at(-1)?.context).includes("editor"));

  const { devices } = remote.aptove.engine;
  const unknown = { code: "workspace_unknown" };
  await assert.rejects(devices.pair(remote.admin.caller, { workspaceId: "no workspace" }), unknown);
  await assert.rejects(devices.pair((await remote.person("member")).caller, { workspaceId }), unknown);
});

test("[P3] [H4] without a valid key no client gets a WebSocket, nor with a key in the address", async (t) => {
  const { refusedHandshake, admin, url } = await remoteTest(t);
  const wrong: Record<string, string>[] = [
    {},
    { authorization: "Bearer nonsense" },
    { authorization: `Bearer ${admin.key}x` },
    { "sec-websocket-protocol": "aptove.acp, aptove.bearer.nonsense" },
    { "sec-websocket-protocol": `aptove.acp, ${admin.key}` },
    { authorization: "Bearer nonsense", "sec-websocket-protocol": `aptove.acp, aptove.bearer.${admin.key}` },
  ];
  for (const headers of wrong) assert.equal((await refusedHandshake(headers)).code, "unauthenticated");
  assert.equal((await refusedHandshake({}, `/acp?key=${admin.key}`)).code, "unauthenticated");
  for (const method of ["POST", "GET", "DELETE"]) {
    assert.equal((await fetch(`${url}/acp`, { method })).status, 401);
    // The subprotocol with the key is accepted for a WebSocket only.
    const headers = { "sec-websocket-protocol": `aptove.acp, aptove.bearer.${admin.key}` };
    assert.equal((await fetch(`${url}/acp`, { method, headers })).status, 401);
  }
});

test("[P3] [H4] a page of a foreign origin and a foreign host are refused, with a good key too", async (t) => {
  const allowedOrigins = ["https://app.example.org"];
  const { refusedHandshake, overSocket, admin } = await remoteTest(t, { door: { allowedOrigins } });
  const authorization = `Bearer ${admin.key}`;
  for (const foreign of [{ origin: "https://evil.example" }, { origin: "null" }, { host: "evil.example" }]) {
    assert.equal((await refusedHandshake({ authorization, ...foreign })).code, "origin_refused");
  }
  assert.equal((await refusedHandshake({ authorization, host: "a b" })).code, "request_invalid");
  await overSocket({ as: admin, headers: { origin: "https://app.example.org" } });
});

test("[P3] a page sends its token as a subprotocol, and the server selects the other one", async (t) => {
  const { overSocket, refusedHandshake, admin } = await remoteTest(t);
  const token = `aptove.bearer.${admin.key}`;
  const { socket } = await overSocket({ as: null, protocols: ["aptove.acp", token] });
  assert.equal(socket.protocol, "aptove.acp");
  const alone = await refusedHandshake({ "sec-websocket-protocol": token });
  assert.deepEqual([alone.code, alone.detail.includes(admin.key)], ["request_invalid", false]);
});

test("[P3] [H4] only an admin's key reaches the server's files and commands", async (t) => {
  const remote = await remoteTest(t, { aptove: { records: memoryRecords() } });
  for (const role of ["member", "reader"] as const) {
    const visitor = await remote.person(role);
    const authorization = `Bearer ${visitor.key}`;
    assert.equal((await remote.refusedHandshake({ authorization })).code, "forbidden");
    const { status } = await initialize(remote, { authorization });
    assert.equal(status, 403);
  }
});

async function initialize({ url }: RemoteTest, headers: Record<string, string>, more: object = {}): Promise<Response> {
  const params = { protocolVersion: 1, clientCapabilities: {} };
  return await fetch(`${url}/acp`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params, ...more }),
  });
}

for (const transport of transports) {
  test(`[P3] ${transport}: a revoked device is cut off at once, and its turn continues`, async (t) => {
    const [held, began] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const script = () => {
      began.resolve();
      return [{ says: ["one ", held.promise, "two"] }];
    };
    const remote = await remoteTest(t, { script });
    const phone = await remote.device(remote.admin);
    const connection = await remote[transport]({ as: phone });
    const { sessionId } = await connection.begin();
    const prompt = remoteErrorOf(connection.prompt(sessionId, "go on"));
    await began.promise;
    await remote.client(remote.admin).devices.revoke(phone.id);
    await prompt;
    await connection.closed;
    if ("closeCode" in connection) assert.equal(await (connection.closeCode as Promise<number>), 1008);
    assert.equal((await initialize(remote, { authorization: `Bearer ${phone.key}` })).status, 401);
    held.resolve();
    assert.equal(await untilFinished(remote, sessionId), "one two");
  });
}

async function untilFinished(remote: RemoteTest, sessionId: string): Promise<string> {
  const admin = remote.client(remote.admin);
  const { id } = await admin.sessions.lastTurn(sessionId);
  for await (const _ of admin.events(id));
  return (await admin.turns.answer(id)).text;
}

test("[P3] [H5] a message that is too large ends its connection with 1009, over HTTP it is a 413; the server continues", async (t) => {
  const remote = await remoteTest(t, { limits: { messageBytesMax: 10_000 } });
  const socket = await remote.overSocket({ as: remote.admin });
  const { sessionId } = await socket.begin();
  const prompt = remoteErrorOf(socket.prompt(sessionId, "x".repeat(10_001)));
  assert.equal(await socket.closeCode, 1009);
  await prompt;
  const authorization = `Bearer ${remote.admin.key}`;
  const large = await initialize(remote, { authorization }, { _meta: { x: "x".repeat(10_001) } });
  assert.partialDeepStrictEqual(await large.json(), { code: "body_too_large", limitBytes: 10_000 });
  await ask(await remote.overHttp({ as: remote.admin }), "still there?");
});

test("[P3] [H5] a message of millions of levels is not parsed: it ends its connection with 1009, over HTTP it is a 400", async (t) => {
  const remote = await remoteTest(t);
  const deep = "[".repeat(1_000_000);
  const { socket, closeCode } = await remote.overSocket({ as: remote.admin });
  socket.send(deep);
  assert.equal(await closeCode, 1009);
  const headers = { authorization: `Bearer ${remote.admin.key}`, "content-type": "application/json" };
  const refusal = await fetch(`${remote.url}/acp`, { method: "POST", headers, body: deep });
  assert.partialDeepStrictEqual(await refusal.json(), { status: 400, code: "request_invalid" });
  await ask(await remote.overHttp({ as: remote.admin }), "still there?");
});

test("[P3] [H4] a session of another user is not found, whatever way it is named", async (t) => {
  const remote = await remoteTest(t, { aptove: { records: memoryRecords() } });
  const [ada, bob] = [await remote.person("admin"), await remote.person("admin")];
  const sessionId = await ask(await remote.overSocket({ as: ada }), "private");
  for (const transport of transports) {
    const connection = await remote[transport]({ as: bob });
    const foreign = await remoteErrorOf(connection.load(sessionId));
    const unknown = await remoteErrorOf(connection.load("01a20000-0000-7000-8000-000000000000"));
    assert.equal(foreign.code, unknown.code);
    await remoteErrorOf(connection.prompt(sessionId, "x"));
    const { sessions } = await connection.agent.request("session/list", {});
    assert.deepEqual(sessions, []);
    assert.deepEqual(connection.updates, []);
  }
});

test("[P2] [P3] a device acts only for itself: an id other than the token's, or of another user, gets an error and nothing else", async (t) => {
  const remote = await remoteTest(t, { aptove: { records: memoryRecords() } });
  const [ada, bob] = [await remote.person("admin"), await remote.person("admin")];
  const phone = await remote.device(ada, { deviceId: "adas-phone" });
  const deviceId = (id: string): Record<string, unknown> => ({ "aptove.dev/deviceId": id });

  const own = await remote.overSocket({ as: phone, device: "adas-phone" });
  const first = await own.begin(deviceId("adas-phone"));
  await remoteErrorOf(own.begin(deviceId("other")));
  const other = { authorization: `Bearer ${phone.key}`, "x-aptove-device": "other" };
  assert.equal((await remote.refusedHandshake(other)).code, "device_refused");

  const guess = { authorization: `Bearer ${bob.key}`, "x-aptove-device": "adas-phone" };
  assert.equal((await remote.refusedHandshake(guess)).code, "device_refused");
  assert.partialDeepStrictEqual(await (await initialize(remote, guess)).json(), { code: "device_refused" });
  const bobs = await remote.overHttp({ as: bob });
  await remoteErrorOf(bobs.begin(deviceId("adas-phone")));
  assert.deepEqual(bobs.updates, []);

  // Ada's other key may name it, and reaches the same workspace.
  const again = await (await remote.overHttp({ as: ada, device: "adas-phone" })).begin();
  assert.equal(again._meta?.["aptove.dev/workspaceId"], first._meta?.["aptove.dev/workspaceId"]);
});

for (const [loss, lose] of Object.entries<(remote: RemoteTest, phone: { id: string }) => Promise<unknown>>({
  "bound to another workspace": async ({ aptove }) => {
    const { workspaces, bindings } = await aptove.workspaces();
    await bindings.bind("adas-phone", (await workspaces.create()).id);
  },
  revoked: ({ admin, client }, { id }) => client(admin).devices.revoke(id),
})) {
  test(`[P3] [H4] a connection that names a device by a key ends when the device is ${loss}; others of the key stay`, async (t) => {
    const remote = await remoteTest(t, { aptove: { records: memoryRecords() } });
    const as = remote.admin;
    const phone = await remote.device(as, { deviceId: "adas-phone" });
    const open = [remote.overSocket({ as, device: "adas-phone" }), remote.overHttp({ as, device: "adas-phone" })];
    const naming = await Promise.all(open);
    const plain = await remote.overSocket({ as });
    for (const each of [...naming, plain]) await each.begin();
    await lose(remote, phone);
    await Promise.all(naming.map((each) => each.closed));
    assert.equal((await plain.begin()).sessionId.length, 36);
    assert.equal((await (await remote.overSocket({ as, device: "adas-phone" })).begin()).sessionId.length, 36);
  });
}

test("[P3] [H4] a connection over HTTP belongs to its key: another key gets the same answer as for an unknown id", async (t) => {
  const remote = await remoteTest(t, { aptove: { records: memoryRecords() } });
  const authorization = `Bearer ${remote.admin.key}`;
  const id = (await initialize(remote, { authorization })).headers.get("acp-connection-id") ?? assert.fail("no id");
  const bob = await remote.person("admin");
  const asBob = { authorization: `Bearer ${bob.key}`, "acp-connection-id": id, accept: "text/event-stream" };
  for (const method of ["GET", "DELETE", "POST"]) {
    const json = method === "POST" ? { body: "{}", headers: { ...asBob, "content-type": "application/json" } } : {};
    const response = await fetch(`${remote.url}/acp`, { method, headers: asBob, ...json });
    assert.equal(response.status, 404);
  }
  const mine = { authorization, "acp-connection-id": id };
  assert.equal((await fetch(`${remote.url}/acp`, { method: "DELETE", headers: mine })).status, 202);
  assert.equal((await fetch(`${remote.url}/acp`, { method: "DELETE", headers: mine })).status, 404);
});

test("[P3] [H5] the number of connections of a user is limited across both transports; ending one makes room", async (t) => {
  const remote = await remoteTest(t, { limits: { connectionsPerUserMax: 2 } });
  const authorization = `Bearer ${remote.admin.key}`;
  const socket = await remote.overSocket({ as: remote.admin });
  const http = await remote.overHttp({ as: remote.admin });
  const refusal = await remote.refusedHandshake({ authorization });
  assert.partialDeepStrictEqual(refusal, { code: "connections_limited", limit: 2 });
  assert.equal((await initialize(remote, { authorization })).status, 429);
  // A first message that opens no connection uses no slot.
  socket.close();
  await socket.closeCode;
  for (let n = 0; n < 3; n++) {
    const nothing = await initialize(remote, { authorization }, { method: "session/list" });
    assert.equal(nothing.status, 400);
  }
  await ask(await remote.overSocket({ as: remote.admin }), "room?");
  http.close();
});

test("[P3] [R5] a client that vanishes leaves its turn running, and its tools are closed when that has ended", async (t) => {
  const [held, began] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const log: string[] = [];
  const closed = Promise.withResolvers<void>();
  const openSessionTools = async () => ({
    tools: async () => [],
    warnings: () => [],
    close: async () => {
      log.push("closed");
      closed.resolve();
    },
  });
  const script = () => {
    began.resolve();
    return [{ says: ["one ", held.promise, "two"] }];
  };
  const remote = await remoteTest(t, { script, served: { openSessionTools } });
  const connection = await remote.overSocket({ as: remote.admin });
  const { sessionId } = await connection.begin();
  const prompt = remoteErrorOf(connection.prompt(sessionId, "go on"));
  await began.promise;
  connection.socket.terminate();
  await prompt;
  assert.deepEqual(log, []);
  held.resolve();
  assert.equal(await untilFinished(remote, sessionId), "one two");
  await closed.promise;
});

test("[P3] [P4] [R5] a WebSocket that is cut in the middle of a turn loses nothing: the next one loads the turn and follows it", async (t) => {
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  const remote = await remoteTest(t, {
    script: (_call, n) =>
      n === 1
        ? [{ says: ["one ", held.promise, "two"] }, { calls: "write", with: { path: "a.txt", content: "x" } }]
        : "done",
  });
  const cut = await remote.overSocket({ as: remote.admin });
  const { sessionId } = await cut.begin();
  const prompt = remoteErrorOf(cut.prompt(sessionId, "go on"));
  while (cut.text() === "") await new Promise((resolve) => setImmediate(resolve));
  cut.socket.terminate();
  await prompt;
  for (const transport of transports) {
    const again = await remote[transport]({ as: remote.admin });
    await again.load(sessionId);
    assert.equal(again.text(), "one ");
    assert.ok(again.updates.some((update) => JSON.stringify(update).includes("go on")));
    if (transport === "overSocket") continue;
    held.resolve();
    assert.equal((await again.prompt(sessionId, "quickly")).stopReason, "end_turn");
    assert.equal(again.text(), "one twodone");
    assert.deepEqual(again.asked, ["Create a.txt"]);
  }
  assert.equal(await untilFinished(remote, sessionId), "one two\n\ndone");
});

test("[P3] a WebSocket that does not answer, and a connection over HTTP without use, are closed after a while", async (t) => {
  const remote = await remoteTest(t, { limits: { pingMs: 250, idleMs: 250, connectionsPerUserMax: 1 } });
  const authorization = `Bearer ${remote.admin.key}`;
  const socket = await remote.overSocket({ as: remote.admin });
  socket.socket.pong = () => undefined;
  assert.equal(await socket.closeCode, 1006);
  const id = (await initialize(remote, { authorization })).headers.get("acp-connection-id") ?? assert.fail("no id");
  const headers = { authorization, "acp-connection-id": id };
  // The only slot is free again after the connection was closed.
  let next = await initialize(remote, { authorization });
  while (next.status === 429) next = await initialize(remote, { authorization });
  assert.equal((await fetch(`${remote.url}/acp`, { method: "DELETE", headers })).status, 404);
});

test("[P3] a request to upgrade to another protocol, or to a WebSocket elsewhere, is answered like any request", async (t) => {
  const { url, refusedHandshake, admin } = await remoteTest(t);
  const authorization = `Bearer ${admin.key}`;
  const { WebSocket } = await import("ws");
  const elsewhere = new WebSocket(`${url.replace("http", "ws")}/healthz`);
  const [error] = (await once(elsewhere, "error")) as [Error];
  assert.match(error.message, /200/);
  assert.equal((await refusedHandshake({ authorization }, "/nothing")).code, "not_found");
  assert.equal((await refusedHandshake({ authorization, upgrade: "h2c" }, "/api/nothing")).code, "not_found");
});

test("[P3] [H4] a page of an allowed origin may use the streamable form", async (t) => {
  const origin = "https://app.example.org";
  const remote = await remoteTest(t, { door: { allowedOrigins: [origin] } });
  const asks = { origin, "access-control-request-method": "POST" };
  const preflight = await fetch(`${remote.url}/acp`, { method: "OPTIONS", headers: asks });
  assert.equal(preflight.status, 204);
  for (const name of ["acp-connection-id", "acp-session-id", "x-aptove-device"]) {
    assert.ok(preflight.headers.get("access-control-allow-headers")?.includes(name), name);
  }
  const opened = await initialize(remote, { origin, authorization: `Bearer ${remote.admin.key}` });
  assert.match(opened.headers.get("access-control-expose-headers") ?? "", /acp-connection-id/);
});

test("[P3] [R4] a server that stops closes every connection, of both transports", async (t) => {
  const remote = await remoteTest(t);
  const socket = await remote.overSocket({ as: remote.admin });
  const http = await remote.overHttp({ as: remote.admin });
  await ask(http, "x");
  await remote.stop();
  await Promise.all([socket.closeCode, http.closed]);
});
