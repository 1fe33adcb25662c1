/**
 * `/v1/responses` over a WebSocket (O1). A client sends `response.create` messages. They are answered one after the other, with
 * the events of a stream as text frames. A client that leaves stops the response that runs.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type WebSocket } from "ws";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { ConnectionSlots } from "../connection-slots.ts";
import { parseJson } from "../json-body.ts";
import type { OpenAiClient, OpenAiParts } from "./door-call.ts";
import { createResponse } from "./responses/create-response.ts";
import type { ResponseClient } from "./responses/run-response.ts";
import { UnkeptPlace } from "./responses/unkept-place.ts";
import { badParameter, toWireError } from "./wire-error.ts";

/** A request to upgrade the connection to a WebSocket. */
export interface SocketHandshake {
  incoming: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

export interface ResponseSockets {
  upgrade(handshake: SocketHandshake, client: OpenAiClient): Promise<void>;
  /** Closes all connections. */
  close(): void;
}

export interface SocketLimits {
  messageBytesMax: number;
  connectionsPerUserMax: number;
  /** How many messages may wait for their turn. */
  messagesWaitingMax: number;
  pingMs: number;
  /** How long a connection may last. */
  connectionMs: number;
}

const defaults: SocketLimits = {
  messageBytesMax: limits.requestBodyBytesMax,
  connectionsPerUserMax: limits.acpConnectionsPerUserMax,
  messagesWaitingMax: 16,
  pingMs: limits.acpPingMs,
  connectionMs: 3_600_000,
};

/** Close code "policy violation", for a client whose key is no longer valid. */
const keyEnded = 1008;
const path = "/v1/responses";
/** How long a peer may take to close its end. Then the socket is cut. */
const closeMs = 1_000;

export function responseSockets(parts: OpenAiParts, given: Partial<SocketLimits> = {}): ResponseSockets {
  const bounds = { ...defaults, ...given };
  const server = new WebSocketServer({ noServer: true, maxPayload: bounds.messageBytesMax });
  const slots = new ConnectionSlots(bounds.connectionsPerUserMax);
  const answered = new WeakSet<WebSocket>();
  const timer = setInterval(() => pingAll(server.clients, answered), bounds.pingMs).unref();
  return {
    upgrade: async ({ incoming, socket, head }, client) => {
      if ((incoming.url ?? "").split("?")[0] !== path) {
        throw new AptoveError("not_found", "No WebSocket is served at this address.");
      }
      if (socket.destroyed) return;
      socket.once("close", slots.take(client.caller));
      server.handleUpgrade(incoming, socket, head, (webSocket) => {
        answered.add(webSocket);
        webSocket.on("pong", () => answered.add(webSocket));
        serve(parts, { webSocket, client, bounds });
      });
    },
    close: () => {
      clearInterval(timer);
      server.close();
      for (const webSocket of server.clients) endSocket(webSocket, 1001, "the server stops");
    },
  };
}

/** Closes the sockets that did not answer the last ping: their peers are gone. */
function pingAll(sockets: ReadonlySet<WebSocket>, answered: WeakSet<WebSocket>): void {
  for (const socket of sockets) {
    if (answered.delete(socket)) socket.ping();
    else socket.terminate();
  }
}

/** The sockets that this server closes. Their clients did not leave. */
const endedHere = new WeakSet<WebSocket>();

function endSocket(socket: WebSocket, code: number, reason: string): void {
  endedHere.add(socket);
  socket.close(code, reason);
  const timer = setTimeout(() => socket.terminate(), closeMs).unref();
  socket.once("close", () => clearTimeout(timer));
}

interface Served {
  webSocket: WebSocket;
  client: OpenAiClient;
  bounds: SocketLimits;
}

function serve(parts: OpenAiParts, { webSocket, client, bounds }: Served): void {
  const gone = new AbortController();
  const left = new AbortController();
  const unkept = new UnkeptPlace(parts.engine);
  let waiting = 0;
  let line: Promise<void> = Promise.resolve();
  const send = (event: object): void => {
    if (webSocket.readyState === webSocket.OPEN) webSocket.send(JSON.stringify(event));
  };
  const fail = (error: unknown): void => send(errorEvent(parts, error));
  const unwatch = client.watchKey(() => endSocket(webSocket, keyEnded, "the key is no longer valid"));
  const oldest = setTimeout(() => {
    fail(badParameter(null, "The connection has reached its time limit.", "websocket_connection_limit_reached"));
    endSocket(webSocket, 1000, "time limit");
  }, bounds.connectionMs).unref();
  webSocket.on("error", () => webSocket.terminate());
  webSocket.once("close", () => {
    clearTimeout(oldest);
    unwatch();
    gone.abort();
    if (!endedHere.has(webSocket)) left.abort();
    unkept.close();
  });
  webSocket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) return fail(badParameter(null, "Send messages as text.", "invalid_message"));
    if (waiting >= bounds.messagesWaitingMax) {
      return fail(badParameter(null, `${waiting} messages wait already.`, "too_many_messages"));
    }
    waiting += 1;
    line = line.then(async () => {
      try {
        if (!gone.signal.aborted)
          await answer(parts, {
            client: { ...client, request: left },
            text: data.toString(),
            send,
            signal: gone.signal,
            unkept,
          });
      } catch (error) {
        fail(error);
      } finally {
        waiting -= 1;
      }
    });
  });
}

interface Message {
  client: ResponseClient;
  text: string;
  send: (event: object) => void;
  signal: AbortSignal;
  unkept: UnkeptPlace;
}

async function answer(parts: OpenAiParts, { client, text, send, signal, unkept }: Message): Promise<void> {
  const body = createBody(text);
  const { events } = await createResponse(parts, { client, body, idempotencyKey: null, signal, unkept });
  for await (const event of events) send(event);
}

/** What a message may not have, because the connection itself is the stream. */
const notHere = ["stream", "stream_options", "background"];

function createBody(text: string): object {
  const message = messageOf(text);
  const { type, ...body } = message;
  if (type !== "response.create") {
    throw badParameter("type", "Supported values are: 'response.create'.");
  }
  const wrong = notHere.find((name) => body[name] !== undefined && body[name] !== null && body[name] !== false);
  if (wrong !== undefined)
    throw badParameter(wrong, `'${wrong}' is not allowed over a WebSocket.`, "unsupported_parameter");
  return body;
}

function messageOf(text: string): Record<string, unknown> {
  try {
    const value = parseJson(text, "the message");
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    if (error instanceof AptoveError) throw badParameter(null, error.detail, "invalid_json");
    throw error;
  }
  throw badParameter(null, "The message is not an object.", "invalid_json");
}

function errorEvent({ report }: OpenAiParts, thrown: unknown): object {
  if (thrown instanceof AptoveError && thrown.code !== "internal") return { type: "error", ...toWireError(thrown) };
  report("a message of a WebSocket failed unexpectedly", thrown);
  return { type: "error", ...toWireError(new AptoveError("internal", "an unexpected error")) };
}
