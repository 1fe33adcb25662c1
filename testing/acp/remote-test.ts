/** A server with `/acp` for tests: the engine of `acpTest` behind a real socket, and the SDK's own client for each transport. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { TestContext } from "node:test";
import { client, type ClientContext, type SessionUpdate, type Stream } from "@agentclientprotocol/sdk";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { WebSocket } from "ws";
import { createClient, type AptoveClient } from "../../src/client/client.ts";
import { remoteAcpMount } from "../../src/compose/mounts/remote-acp.ts";
import type { Aptove } from "../../src/compose.ts";
import type { Caller, Role } from "../../src/domain/caller.ts";
import type { RemoteLimits } from "../../src/doors/acp/transport/remote-connections.ts";
import { httpDoor, type HttpDoor, type HttpDoorOptions } from "../../src/doors/http/door.ts";
import { listen } from "../../src/doors/http/listen.ts";
import { withoutNullish } from "../../src/protocol/given.ts";
import { problemSchema, type WireProblem } from "../../src/protocol/problem.ts";
import { acpTest, type AcpTest, type AcpTestOptions } from "./acp-test.ts";
import { addUser } from "../people.ts";

export interface RemoteTestOptions extends AcpTestOptions {
  limits?: Partial<RemoteLimits>;
  door?: Partial<HttpDoorOptions>;
  /** Replaces the parts that serve `/acp`. */
  served?: Partial<Aptove>;
}

/** A user or a user's device, with the key that it sends. */
export interface Visitor {
  caller: Caller;
  key: string;
}

export interface Connecting {
  as: Visitor | null;
  /** The device id in the header. */
  device?: string;
  headers?: Record<string, string>;
  protocols?: string[];
}

export interface RemoteConnection {
  agent: ClientContext;
  updates: SessionUpdate[];
  /** Titles of the tool calls that needed permission. The person allows each once. */
  asked: (string | null | undefined)[];
  begin(meta?: Record<string, unknown>): Promise<{ sessionId: string; _meta?: Record<string, unknown> | null }>;
  load(sessionId: string): Promise<unknown>;
  prompt(sessionId: string, text: string): Promise<{ stopReason: string }>;
  text(): string;
  close(): void;
  closed: Promise<void>;
}

export interface SocketConnection extends RemoteConnection {
  socket: WebSocket;
  /** The close code from the server. */
  closeCode: Promise<number>;
}

export interface DeviceStart {
  deviceId?: string;
  /** The workspace to share. */
  workspaceId?: string;
}

export interface RemoteTest extends AcpTest {
  url: string;
  /** The same connection over HTTP. */
  door: HttpDoor;
  admin: Visitor;
  person(role: Role): Promise<Visitor>;
  device(of: Visitor, named?: DeviceStart): Promise<Visitor & { id: string; deviceId: string }>;
  overSocket(connecting: Connecting): Promise<SocketConnection>;
  overHttp(connecting: Connecting): Promise<RemoteConnection>;
  /** The HTTP answer to a refused handshake. */
  refusedHandshake(headers: Record<string, string>, path?: string): Promise<WireProblem>;
  client(as: Visitor): AptoveClient;
  /** Stops the server in the way the program does. */
  stop(): Promise<void>;
}

export async function remoteTest(context: TestContext, options: RemoteTestOptions = {}): Promise<RemoteTest> {
  const tested = await acpTest(context, options);
  const { aptove, project } = tested;
  const { engine } = aptove;
  const acp = remoteAcpMount({ ...aptove, ...options.served }, options.limits);
  const door = httpDoor({ engine, report: aptove.report, mounts: [acp], ...options.door });
  const server = await listen(door, { host: "127.0.0.1", port: 0 });
  let stopping: Promise<void> | null = null;
  const stop = async (graceMs: number): Promise<void> => {
    await engine.close({ graceMs });
    await acp.close();
    await server.close({ graceMs: 1_000 });
  };
  context.after(() => (stopping ??= stop(0)));
  const owner = await engine.keys.owner();
  const visitor = async (caller: Caller): Promise<Visitor> => {
    const { key, secret } = await engine.keys.create({ ...caller, role: "admin" }, { name: "test" });
    assert.equal(key.userId, caller.userId);
    return { caller, key: secret };
  };
  const admin = await visitor(owner);
  const open = openers(context, { url: `${server.url}/acp`, project });
  return {
    ...tested,
    ...open,
    url: server.url,
    door,
    admin,
    person: async (role) => {
      const records = options.aptove?.records ?? assert.fail("bring the records");
      const { id: userId, orgId } = await addUser(records, { orgId: owner.orgId, role });
      return await visitor({ orgId, userId, role });
    },
    device: async (of, { deviceId, workspaceId } = {}) => {
      const { code } = await engine.devices.pair(of.caller, withoutNullish({ workspaceId }));
      const { device, token } = await engine.devices.claim({ code, name: "phone", ...withoutNullish({ deviceId }) });
      const caller = { ...of.caller, deviceId: device.deviceId };
      return { caller, key: token, id: device.id, deviceId: device.deviceId };
    },
    refusedHandshake: (headers, path = "/acp") => refusedHandshake(server.url + path, headers),
    client: ({ key }) => createClient({ url: server.url, key }),
    stop: () => (stopping ??= stop(10_000)),
  };
}

type Openers = Pick<RemoteTest, "overSocket" | "overHttp">;

function openers(context: TestContext, { url, project }: { url: string; project: string }): Openers {
  const connected = async (stream: Stream): Promise<RemoteConnection> => {
    const connection = connectTo(stream, project);
    context.after(() => connection.close());
    await connection.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    return connection;
  };
  return {
    overSocket: async ({ protocols, ...connecting }) => {
      const opened: WebSocket[] = [];
      const Remembered = class extends WebSocket {
        constructor(...args: ConstructorParameters<typeof WebSocket>) {
          super(...args);
          opened.push(this);
        }
      };
      const named = protocols === undefined ? {} : { protocols };
      const headers = headersOf(connecting);
      const stream = createWebSocketStream(url.replace("http", "ws"), { WebSocket: Remembered, headers, ...named });
      const [socket = assert.fail("no socket was opened")] = opened;
      const closeCode = once(socket, "close").then(([code]) => code as number);
      closeCode.catch(() => undefined);
      return { ...(await connected(stream)), socket, closeCode };
    },
    overHttp: async (connecting) => await connected(createHttpStream(url, { headers: headersOf(connecting) })),
  };
}

function headersOf({ as, device, headers = {} }: Connecting): Record<string, string> {
  return {
    ...(as !== null && { authorization: `Bearer ${as.key}` }),
    ...(device !== undefined && { "x-aptove-device": device }),
    ...headers,
  };
}

function connectTo(stream: Stream, project: string): RemoteConnection {
  const updates: SessionUpdate[] = [];
  const asked: RemoteConnection["asked"] = [];
  const connection = client({ name: "test" })
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .onRequest("session/request_permission", ({ params }) => {
      asked.push(params.toolCall.title);
      return { outcome: { outcome: "selected", optionId: "allow_once" } };
    })
    .connect(stream);
  const { agent } = connection;
  return {
    agent,
    updates,
    asked,
    begin: (meta) =>
      agent.request("session/new", { cwd: project, mcpServers: [], ...(meta !== undefined && { _meta: meta }) }),
    load: (sessionId) => agent.request("session/load", { sessionId, cwd: project, mcpServers: [] }),
    prompt: (sessionId, text) => agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
    text: () =>
      updates
        .map((update) =>
          update.sessionUpdate === "agent_message_chunk" && update.content.type === "text" ? update.content.text : "",
        )
        .join(""),
    close: () => connection.close(),
    closed: connection.closed,
  };
}

async function refusedHandshake(url: string, headers: Record<string, string>): Promise<WireProblem> {
  const key = Buffer.alloc(16).toString("base64");
  const handshake = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
  const sent = httpRequest(url, { headers: { ...handshake, "sec-websocket-key": key, ...headers } });
  sent.end();
  sent.on("upgrade", (_response, socket) => socket.destroy());
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const piece of response) text += String(piece);
  const value = problemSchema.parse(JSON.parse(text));
  assert.equal(response.statusCode, value.status);
  return value;
}
