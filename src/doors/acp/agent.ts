/**
 * The editor's door: the Agent Client Protocol, version 1, over any pair of streams (P1). It parses, calls the engine
 * and maps the outcome; it decides nothing.
 */
import {
  agent,
  methods,
  type AgentConnection,
  type AnyMessage,
  type InitializeResponse,
  type ParamsParser,
  type RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import { Client } from "./client/client.ts";
import { AcpDoor } from "./door.ts";
import { forkRequest, type ForkRequest } from "./fork-request.ts";
import { metaKeys } from "./meta.ts";
import type { AcpPorts } from "./ports.ts";
import { refusal } from "./refusal.ts";

export type { AcpPorts, OpenedPorts, SessionChoices } from "./ports.ts";

/** One client's agent; what the SDK's servers take as well. */
export interface AcpAgent {
  /** To be called once. */
  connect(stream: Stream): AcpConnection;
}

export interface AcpConnection {
  /** Resolves when the client is gone, or `close` was called. */
  readonly closed: Promise<void>;
  /** Resolves after that, when the turns that it began have ended and nothing that it opened is open (R5). */
  readonly ended: Promise<void>;
  close(): void;
}

export function acpAgent(ports: AcpPorts): AcpAgent {
  return {
    connect: (stream) => {
      let connection: AgentConnection | null = null;
      const client = new Client(() => {
        // The SDK hands over the connection before it handles the first message.
        if (connection === null) throw refusal(null, ports.report);
        return connection;
      });
      const door = new AcpDoor(ports, client);
      connection = appOf(ports, { door, client }).connect(deviceIdInMeta(stream));
      const { closed } = connection;
      return { closed, ended: closed.then(() => door.end()), close: () => connection.close() };
    },
  };
}

/**
 * A prompt is registered first and its cancellation last: the SDK asks one handler after the other, each a moment
 * later, so that a cancellation right behind its prompt would overtake it else.
 */
function appOf(ports: AcpPorts, { door, client }: { door: AcpDoor; client: Client }) {
  const answering = async <T>(body: () => T | Promise<T>): Promise<T> => {
    try {
      return await body();
    } catch (error) {
      throw cancelledOr(error, ports);
    }
  };
  const { session } = methods.agent;
  const parseFork: ParamsParser<ForkRequest> = forkRequest;
  return agent({ name: "aptove" })
    .onRequest(session.prompt, ({ params, signal }) => answering(() => door.prompt(params, signal)))
    .onRequest(methods.agent.initialize, ({ params }) => {
      client.capabilities = params.clientCapabilities ?? {};
      return initialized(ports.version);
    })
    .onRequest(session.new, ({ params }) => answering(() => door.newSession(params)))
    .onRequest(session.load, ({ params, signal }) => answering(() => door.loadSession(params, signal)))
    .onRequest(session.resume, ({ params }) => answering(() => door.resumeSession(params)))
    .onRequest("session/fork", parseFork, ({ params }) => answering(() => door.forkSession(params)))
    .onRequest(session.list, ({ params }) => answering(() => door.listSessions(params)))
    .onRequest(session.delete, ({ params }) => answering(() => door.deleteSession(params)))
    .onRequest(session.setMode, ({ params }) => answering(() => door.setMode(params)))
    .onRequest(session.setConfigOption, ({ params }) => answering(() => door.setConfigOption(params)))
    .onRequest(session.close, ({ params }) => answering(() => door.closeSession(params)))
    .onNotification(session.cancel, ({ params }) => door.cancel(params));
}

/** A request that its client cancelled: the SDK answers it as such. */
function cancelledOr(error: unknown, ports: AcpPorts): RequestError | Error {
  if (error instanceof Error && error.name === "AbortError") return error;
  return refusal(error, ports.report);
}

/** Version 1 is all that there is: whatever was asked for, the client gets what it can decide on. */
function initialized(version: string): InitializeResponse {
  const unstable = { fork: {} };
  return {
    protocolVersion: 1,
    agentInfo: { name: "aptove", title: "aptove", version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: { list: {}, delete: {}, additionalDirectories: {}, resume: {}, close: {}, ...unstable },
      _meta: { "aptove.dev": { deviceBinding: true } },
    },
    authMethods: [],
  };
}

/** Older clients name their device at the root of the request (P2), where a parser by the schema drops it. */
function deviceIdInMeta(stream: Stream): Stream {
  const move = new TransformStream<AnyMessage, AnyMessage>({
    transform: (message, controller) => controller.enqueue(withDeviceId(message)),
  });
  return { writable: stream.writable, readable: stream.readable.pipeThrough(move) };
}

function withDeviceId(message: AnyMessage): AnyMessage {
  if (!("method" in message) || typeof message.params !== "object" || message.params === null) return message;
  const { device_id: deviceId, _meta: meta, ...params } = message.params as Record<string, unknown>;
  if (deviceId === undefined) return message;
  const known = typeof meta === "object" && meta !== null ? meta : {};
  return { ...message, params: { ...params, _meta: { [metaKeys.deviceId]: deviceId, ...known } } };
}
