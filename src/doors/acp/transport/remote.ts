/**
 * ACP over the network (P3): one path that takes WebSockets and the streamable form of HTTP. Whoever mounts it has let
 * the visitor in; here every connection gets an agent of its own, belongs to the key that opened it, and ends with it.
 * The turns that it began go on (R5).
 */
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { AptoveError } from "../../../domain/errors.ts";
import { limits as defaults } from "../../../domain/limits.ts";
import { beginner } from "./remote-connections.ts";
import type { RemoteAcpOptions, RemoteLimits, RemoteClient } from "./remote-connections.ts";
import { httpConnections } from "./remote-http.ts";
import { webSockets, type Handshake } from "./remote-sockets.ts";

/** Fits the HTTP door's mounts. */
export interface RemoteAcp {
  path: "/acp";
  methods: readonly string[];
  bodyBytesMax: number;
  fetch(request: Request, visitor: RemoteClient): Promise<Response>;
  upgrade(handshake: Handshake, visitor: RemoteClient): Promise<void>;
  /** Closes all connections; resolves when what they opened is closed too. */
  close(): Promise<void>;
}

export function remoteAcp(options: RemoteAcpOptions): RemoteAcp {
  const limits: RemoteLimits = { ...defaultLimits, ...options.limits };
  const server = new AcpServer({ createAgent: noAgent });
  const parts = { server, limits, begin: beginner(options, limits) };
  const http = httpConnections(parts);
  const sockets = webSockets(parts);
  return {
    path: "/acp",
    methods: ["POST", "GET", "DELETE"],
    bodyBytesMax: limits.messageBytesMax,
    fetch: (request, visitor) => http.fetch(request, visitor),
    upgrade: (handshake, visitor) => sockets.upgrade(handshake, visitor),
    close: async () => {
      http.close();
      sockets.close();
      await server.close();
      await parts.begin.ended();
    },
  };
}

const defaultLimits: RemoteLimits = {
  connectionsPerUserMax: defaults.acpConnectionsPerUserMax,
  messageBytesMax: defaults.acpMessageBytesMax,
  pingMs: defaults.acpPingMs,
  idleMs: defaults.acpIdleMs,
};

/** Every connection brings the agent of its visitor. */
function noAgent(): never {
  throw new AptoveError("internal", "a connection has no agent");
}
