/** ACP over WebSockets: one message per text frame. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { PreparedWebSocketUpgrade } from "@agentclientprotocol/sdk/experimental/server";
import { WebSocketServer, type WebSocket } from "ws";
import { AptoveError } from "../../../domain/errors.ts";
import { formFault } from "./message-form.ts";
import { deviceHeader } from "./remote-http.ts";
import type { Beginning, RemoteParts, RemoteClient } from "./remote-connections.ts";

/** A request to go on as a WebSocket. */
export interface Handshake {
  incoming: IncomingMessage;
  socket: Duplex;
  head: Buffer;
}

export interface WebSockets {
  upgrade(handshake: Handshake, visitor: RemoteClient): Promise<void>;
  close(): void;
}

/** What a browser names beside the subprotocol that carries its token: the answer must choose one, and not the token. */
const subprotocol = "aptove.acp";

/** Policy violation; what the peer is told when its key has ended. */
const keyEnded = 1008;

/** Message too big; what the peer is told of one that is not even parsed. */
const tooBig = 1009;

/** How long a peer has to close its end, before it is cut off. */
const closeMs = 1_000;

export function webSockets(parts: RemoteParts): WebSockets {
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
    upgrade: async (handshake, visitor) => {
      checkProtocols(handshake.incoming);
      await upgrade(parts, { sockets, ids }, { handshake, visitor });
    },
    close: () => {
      clearInterval(timer);
      sockets.close();
      for (const socket of sockets.clients) cutOffLater(socket);
    },
  };
}

/** A client that names subprotocols gives up where none of them is chosen, and cannot say why. */
function checkProtocols({ headers }: IncomingMessage): void {
  const offered = headers["sec-websocket-protocol"]?.split(",").map((one) => one.trim());
  if (offered === undefined || offered.includes(subprotocol)) return;
  throw new AptoveError("request_invalid", `the subprotocol is ${subprotocol}; name it beside the one with the token`);
}

async function upgrade(
  { server, begin: beginner }: RemoteParts,
  { sockets, ids }: { sockets: WebSocketServer; ids: WeakMap<IncomingMessage, string> },
  { handshake: { incoming, socket, head }, visitor }: { handshake: Handshake; visitor: RemoteClient },
): Promise<void> {
  const named = incoming.headers[deviceHeader];
  const beginning = await beginner.begin(visitor, typeof named === "string" ? named : null);
  // It may have gone while it was looked at.
  if (socket.destroyed) return beginning.giveUp();
  const prepared = prepare(server, beginning);
  ids.set(incoming, prepared.connectionId);
  socket.once("close", () => prepared.reject());
  sockets.handleUpgrade(incoming, socket, head, (webSocket) => {
    sockets.emit("connection", webSocket, incoming);
    prepared.accept(guarded(webSocket));
    beginning.onKeyEnd(() => {
      webSocket.close(keyEnded, "the key is not valid any more");
      cutOffLater(webSocket);
      // From here on nothing is taken from a peer that takes its time to go.
      beginning.connection()?.close();
    });
  });
}

type GuardedSocket = Parameters<PreparedWebSocketUpgrade["accept"]>[0];

/** The socket as the SDK uses it: a message whose form would hold up everybody else ends the connection instead. */
function guarded(socket: WebSocket): GuardedSocket {
  const taken = (data: string): void => {
    const fault = formFault(data);
    if (fault === null) return void listeners.forEach((listener) => listener(data, false));
    socket.close(tooBig, fault);
    cutOffLater(socket);
  };
  const listeners = new Set<(...args: unknown[]) => void>();
  socket.on("message", (data: Buffer, isBinary) => {
    if (!isBinary) taken(data.toString());
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

function prepare(server: RemoteParts["server"], beginning: Beginning): PreparedWebSocketUpgrade {
  try {
    return server.prepareWebSocketUpgrade({ agent: beginning.agent });
  } catch (error) {
    beginning.giveUp();
    throw error;
  }
}

/** A socket that is being closed waits for the peer's word, which may never come. */
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
