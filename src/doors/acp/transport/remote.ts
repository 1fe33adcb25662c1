/**
 * ACP over the network (P3): one path for WebSockets and for streamable HTTP. The HTTP door has authenticated the client. Every
 * connection has its own agent and belongs to the key that opened it. It ends when the key becomes invalid, but its turns
 * continue (R5).
 */
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { AptoveError } from "../../../domain/errors.ts";
import { limits as defaults } from "../../../domain/limits.ts";
import { acpPlace } from "../place.ts";
import {
  connectionFactory,
  type RemoteAcpOptions,
  type RemoteLimits,
  type RemoteClient,
} from "./remote-connections.ts";
import { httpConnections } from "./remote-http.ts";
import { webSockets, type WebSocketHandshake } from "./remote-sockets.ts";

/** The ACP door in the form that the HTTP door can mount. */
export interface RemoteAcp {
  path: "/acp";
  methods: readonly string[];
  bodyBytesMax: number;
  fetch(request: Request, client: RemoteClient): Promise<Response>;
  upgrade(handshake: WebSocketHandshake, client: RemoteClient): Promise<void>;
  /** Closes all connections. Resolves when everything that they opened is closed too. */
  close(): Promise<void>;
}

export function remoteAcp(options: RemoteAcpOptions): RemoteAcp {
  const limits: RemoteLimits = { ...defaultLimits, ...options.limits };
  const server = new AcpServer({ createAgent: noAgent });
  const parts = { server, limits, connections: connectionFactory(options, limits) };
  const http = httpConnections(parts);
  const sockets = webSockets(parts);
  return {
    ...acpPlace,
    bodyBytesMax: limits.messageBytesMax,
    fetch: (request, client) => http.fetch(request, client),
    upgrade: (handshake, client) => sockets.upgrade(handshake, client),
    close: async () => {
      http.close();
      sockets.close();
      await server.close();
      await parts.connections.ended();
    },
  };
}

const defaultLimits: RemoteLimits = {
  connectionsPerUserMax: defaults.acpConnectionsPerUserMax,
  messageBytesMax: defaults.acpMessageBytesMax,
  pingMs: defaults.acpPingMs,
  idleMs: defaults.acpIdleMs,
};

/** Never called, because every connection has its own agent. */
function noAgent(): never {
  throw new AptoveError("internal", "a connection has no agent");
}
