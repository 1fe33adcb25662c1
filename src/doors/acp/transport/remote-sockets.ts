/** ACP over WebSockets: one message per text frame. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { PreparedWebSocketUpgrade } from "@agentclientprotocol/sdk/experimental/server";
import { WebSocketServer, type WebSocket } from "ws";
import { AptoveError } from "../../../domain/errors.ts";
import { formFault } from "./message-form.ts";
import { deviceHeader } from "./remote-http.ts";
import type { PendingConnection, RemoteDependencies, RemoteClient } from "./remote-connections.ts";

/** A request to upgrade the connection to a WebSocket. */
export interface WebSocketHandshake {
  incoming: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

export interface WebSockets {
  upgrade(handshake: WebSocketHandshake, client: RemoteClient): Promise<void>;
  close(): void;
}

/** The subprotocol that a browser names beside the one with its token. The server must choose one of them, and not the token. */
const subprotocol = "aptove.acp";

/** Close code "policy violation", for a peer whose key is no longer valid. */
const keyEnded = 1008;

/** Close code "message too big", for a message that is not parsed. */
const tooBig = 1009;

/** How long a peer may take to close its end, in milliseconds. Then the socket is cut. */
const closeMs = 1_000;

export function webSockets(parts: RemoteDependencies): WebSockets {
  const { limits } = parts;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.messageBytesMax,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  const ids = new WeakMap<IncomingMessage, string>();
  sockets.on("headers", (headers, incoming) => {
    const id = ids.get(incoming);
    if (id !== undefined) headers.push(`Acp-Connection-Id: ${id}`);
  });
  const answered = new WeakSet<WebSocket>();
  sockets.on("connection", (socket: WebSocket) => {
    answered.add(socket);
    socket.on("pong", () => answered.add(socket));
  });
  const timer = setInterval(() => pingAll(sockets.clients, answered), limits.pingMs).unref();
  return {
    upgrade: async (handshake, client) => {
      checkProtocols(handshake.incoming);
      await upgrade(parts, { sockets, ids }, { handshake, client });
    },
    close: () => {
      clearInterval(timer);
      sockets.close();
      for (const socket of sockets.clients) cutOffLater(socket);
    },
  };
}

/** Refuses unknown subprotocols with an error: otherwise the client fails without a reason, because none of its subprotocols is chosen. */
function checkProtocols({ headers }: IncomingMessage): void {
  const offered = headers["sec-websocket-protocol"]?.split(",").map((one) => one.trim());
  if (offered === undefined || offered.includes(subprotocol)) return;
  throw new AptoveError("request_invalid", `send the subprotocol ${subprotocol} beside the one with the token`);
}

async function upgrade(
  { server, connections }: RemoteDependencies,
  { sockets, ids }: { sockets: WebSocketServer; ids: WeakMap<IncomingMessage, string> },
  { handshake: { incoming, socket, head }, client }: { handshake: WebSocketHandshake; client: RemoteClient },
): Promise<void> {
  const named = incoming.headers[deviceHeader];
  const pending = await connections.begin(client, typeof named === "string" ? named : null);
  // The client may have gone during the checks.
  if (socket.destroyed) return pending.giveUp();
  const prepared = prepare(server, pending);
  ids.set(incoming, prepared.connectionId);
  socket.once("close", () => prepared.reject());
  sockets.handleUpgrade(incoming, socket, head, (webSocket) => {
    sockets.emit("connection", webSocket, incoming);
    prepared.accept(guarded(webSocket));
    pending.onKeyEnd(() => {
      webSocket.close(keyEnded, "the key is no longer valid");
      cutOffLater(webSocket);
      // Stops reading at once, even if the peer delays the close.
      pending.connection()?.close();
    });
  });
}

type GuardedSocket = Parameters<PreparedWebSocketUpgrade["accept"]>[0];

/** Wraps the socket for the SDK. A message that would block the process closes the connection instead. */
function guarded(socket: WebSocket): GuardedSocket {
  const receive = (data: string): void => {
    const fault = formFault(data);
    if (fault === null) return void listeners.forEach((listener) => listener(data, false));
    socket.close(tooBig, fault);
    cutOffLater(socket);
  };
  const listeners = new Set<(...args: unknown[]) => void>();
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isBinary) receive(data.toString());
  });
  return {
    get readyState() {
      return socket.readyState;
    },
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    send: (data) => socket.send(data),
    close: (code, reason) => socket.close(code, reason),
    on: (type, listener) => (type === "message" ? listeners.add(listener) : socket.on(type, listener)),
    off: (type, listener) => (type === "message" ? listeners.delete(listener) : socket.off(type, listener)),
  };
}

function prepare(server: RemoteDependencies["server"], pending: PendingConnection): PreparedWebSocketUpgrade {
  try {
    return server.prepareWebSocketUpgrade({ agent: pending.agent });
  } catch (error) {
    pending.giveUp();
    throw error;
  }
}

/** Cuts the socket after a while: a closing socket waits for the peer, which may never answer. */
function cutOffLater(socket: WebSocket): void {
  const timer = setTimeout(() => socket.terminate(), closeMs).unref();
  socket.once("close", () => clearTimeout(timer));
}

function pingAll(sockets: ReadonlySet<WebSocket>, answered: WeakSet<WebSocket>): void {
  for (const socket of sockets) {
    if (answered.delete(socket)) socket.ping();
    else socket.terminate();
  }
}
