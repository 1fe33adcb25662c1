/**
 * The door for editors: the Agent Client Protocol, version 1, over any pair of streams (P1). It parses requests, calls the
 * engine and maps the outcome. It makes no decisions of its own.
 */
import {
  agent,
  methods,
  type AgentConnection,
  type AnyMessage,
  type ClientCapabilities,
  type InitializeResponse,
  type ParamsParser,
  type RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import * as z from "zod";
import { AcpClient } from "./client/acp-client.ts";
import { AcpDoor } from "./door.ts";
import { forkRequest, titleRequest, type ForkRequest, type TitleRequest } from "./unstable-requests.ts";
import { metaKeys } from "./meta.ts";
import { authMethods } from "./provider-keys.ts";
import type { AcpPorts } from "./ports.ts";
import { refusal } from "./refusal.ts";

export type { AcpPorts, MissingKey, OpenedPorts, SessionChoices } from "./ports.ts";

/** The agent of one client, in the form that the SDK's servers accept. */
export interface AcpAgent {
  /** Connects the agent to a stream. May be called only once. */
  connect(stream: Stream): AcpConnection;
}

export interface AcpConnection {
  /** Resolves when the client has left or `close` was called. */
  readonly closed: Promise<void>;
  /** Resolves later, when the turns of this connection have ended and everything that it opened is closed (R5). */
  readonly ended: Promise<void>;
  close(): void;
}

export function acpAgent(ports: AcpPorts): AcpAgent {
  return {
    connect: (stream) => {
      let connection: AgentConnection | null = null;
      const client = new AcpClient(() => {
        // The SDK returns the connection before it handles the first message.
        if (connection === null) throw refusal(null, ports.report);
        return connection;
      });
      const door = new AcpDoor(ports, client);
      connection = appOf(ports, { door, client }).connect(readBeside(stream, client));
      const { closed } = connection;
      return { closed, ended: closed.then(() => door.end()), close: () => connection.close() };
    },
  };
}

/**
 * Registers the handlers. The prompt is first and its cancellation last: the SDK tries one handler after the other, each a
 * moment later, so otherwise a cancellation sent right after its prompt would overtake it.
 */
function appOf(ports: AcpPorts, { door, client }: { door: AcpDoor; client: AcpClient }) {
  const answering = async <T>(body: () => T | Promise<T>): Promise<T> => {
    try {
      return await body();
    } catch (error) {
      throw cancelledOr(error, ports);
    }
  };
  const { session } = methods.agent;
  const parseFork: ParamsParser<ForkRequest> = forkRequest;
  const parseTitle: ParamsParser<TitleRequest> = titleRequest;
  return agent({ name: "aptove" })
    .onRequest(session.prompt, ({ params, signal }) => answering(() => door.prompt(params, signal)))
    .onRequest(methods.agent.initialize, ({ params }) => {
      client.capabilities = params.clientCapabilities ?? {};
      return initialized(ports, client.capabilities);
    })
    .onRequest(methods.agent.authenticate, ({ params }) => answering(() => door.authenticate(params)))
    .onRequest(methods.agent.logout, () => answering(() => door.logout()))
    .onRequest(session.new, ({ params }) => answering(() => door.newSession(params)))
    .onRequest(session.load, ({ params, signal }) => answering(() => door.loadSession(params, signal)))
    .onRequest(session.resume, ({ params }) => answering(() => door.resumeSession(params)))
    .onRequest("session/fork", parseFork, ({ params }) => answering(() => door.forkSession(params)))
    .onRequest("session/set_title", parseTitle, ({ params }) => answering(() => door.setTitle(params)))
    .onRequest(session.list, ({ params }) => answering(() => door.listSessions(params)))
    .onRequest(session.delete, ({ params }) => answering(() => door.deleteSession(params)))
    .onRequest(session.setMode, ({ params }) => answering(() => door.setMode(params)))
    .onRequest(session.setConfigOption, ({ params }) => answering(() => door.setConfigOption(params)))
    .onRequest(session.close, ({ params }) => answering(() => door.closeSession(params)))
    .onNotification(session.cancel, ({ params }) => door.cancel(params));
}

/** Returns an AbortError unchanged, because the SDK answers a cancelled request itself. Turns any other error into a refusal. */
function cancelledOr(error: unknown, ports: AcpPorts): RequestError | Error {
  if (error instanceof Error && error.name === "AbortError") return error;
  return refusal(error, ports.report);
}

/** Answers `initialize`. Only version 1 is supported, so the answer is 1 for every requested version; the client then decides. */
function initialized({ version, keys }: AcpPorts, capabilities: ClientCapabilities): InitializeResponse {
  const unstable = { fork: {}, title: {} };
  return {
    protocolVersion: 1,
    agentInfo: { name: "aptove", title: "aptove", version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, delete: {}, additionalDirectories: {}, resume: {}, close: {}, ...unstable },
      ...(keys !== null && { auth: { logout: {} } }),
      _meta: { "aptove.dev": { deviceBinding: true } },
    },
    authMethods: authMethods(keys, capabilities),
  };
}

/**
 * Reads what the schema's parser drops: the device id, which older clients send at the root of the request (P2) and which is
 * moved into `_meta`, and a capability that the stable protocol does not have yet.
 */
function readBeside(stream: Stream, client: AcpClient): Stream {
  const move = new TransformStream<AnyMessage, AnyMessage>({
    transform: (message, controller) => {
      if ("method" in message && message.method === "initialize") client.takesSubagents = announcesSubagents(message);
      controller.enqueue(withDeviceId(message));
    },
  });
  return { writable: stream.writable, readable: stream.readable.pipeThrough(move) };
}

const withSubagents = z.looseObject({ clientCapabilities: z.looseObject({ subagents: z.looseObject({}) }) });

function announcesSubagents({ params }: { params?: unknown }): boolean {
  return withSubagents.safeParse(params).success;
}

function withDeviceId(message: AnyMessage): AnyMessage {
  if (!("method" in message) || typeof message.params !== "object" || message.params === null) return message;
  const { device_id: deviceId, _meta: meta, ...params } = message.params as Record<string, unknown>;
  if (deviceId === undefined) return message;
  const known = typeof meta === "object" && meta !== null ? meta : {};
  return { ...message, params: { ...params, _meta: { [metaKeys.deviceId]: deviceId, ...known } } };
}
