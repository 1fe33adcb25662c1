/** Connections over the network: the owner of each, the limit per user, and when they end (P3, R5). */
import type { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { runsTheServer, type Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { Engine } from "../../../engine/engine.ts";
import { ConnectionSlots } from "../../connection-slots.ts";
import type { AcpAgent, AcpConnection } from "../agent.ts";

export interface RemoteAcpOptions {
  engine: Pick<Engine, "devices" | "keys">;
  /** Creates the agent of one connection. `deviceId` is the caller's device that it belongs to. Null: the client may name one. */
  agentFor(client: { caller: Caller; deviceId: string | null }): AcpAgent;
  limits?: Partial<RemoteLimits>;
}

export interface RemoteLimits {
  connectionsPerUserMax: number;
  messageBytesMax: number;
  /** A WebSocket that does not answer a ping for this long is closed. In milliseconds. */
  pingMs: number;
  /** An HTTP connection without a reader or a request for this long is closed. In milliseconds. */
  idleMs: number;
}

/** An authenticated client, and the secret of its key. */
export interface RemoteClient {
  caller: Caller;
  secret: string;
}

/** What both transports need. */
export interface RemoteDependencies {
  server: AcpServer;
  limits: RemoteLimits;
  connections: ConnectionFactory;
}

/** A connection before it opens. The SDK's server connects its agent, once or never. */
export interface PendingConnection {
  agent: { connect: AcpAgent["connect"] };
  /** Returns the connection, or null if the agent was never connected. */
  connection(): AcpConnection | null;
  /** Calls `end` when the key of this connection becomes invalid, and when the device that it names is bound elsewhere or revoked. */
  onKeyEnd(end: () => void): void;
  /** Must be called if the connection is not opened. Frees its slot. */
  giveUp(): void;
}

export interface ConnectionFactory {
  /** Prepares a connection. Throws `forbidden`, `connections_limited`, `device_refused`, `request_invalid`. */
  begin(client: RemoteClient, deviceId: string | null): Promise<PendingConnection>;
  /** Resolves when all connections have ended. */
  ended(): Promise<void>;
}

export function connectionFactory({ engine, agentFor }: RemoteAcpOptions, limits: RemoteLimits): ConnectionFactory {
  const slots = new ConnectionSlots(limits.connectionsPerUserMax);
  const ending = new Set<Promise<void>>();
  return {
    begin: async ({ caller, secret }, named) => {
      // Only admins of the org that runs the server: admins of another org have no rights on this machine (H4).
      if (!runsTheServer(caller)) {
        const why = "a session uses the files and commands of the server's machine";
        throw new AptoveError("forbidden", `${why}; use an admin's key of the org that runs the server`);
      }
      const deviceId = await engine.devices.resolve(caller, named);
      // A device sees only its own workspace, whatever ids it guesses (W2).
      const scoped = deviceId === null ? caller : await engine.devices.scoped(caller, deviceId);
      const free = slots.take(caller);
      let connection: AcpConnection | null = null;
      const connect: AcpAgent["connect"] = (stream) => {
        const connected = agentFor({ caller: scoped, deviceId }).connect(stream);
        void connected.closed.then(free);
        ending.add(connected.ended);
        void connected.ended.finally(() => ending.delete(connected.ended));
        return (connection = connected);
      };
      return {
        agent: { connect },
        connection: () => connection,
        onKeyEnd: (end) => {
          // A device's own key ends with the device.
          const isNamed = deviceId !== null && caller.deviceId === undefined;
          const unwatch = engine.keys.watch({ secret, caller: scoped, ...(isNamed && { deviceId }) }, end);
          void connection?.closed.then(unwatch);
        },
        giveUp: () => (connection === null ? free() : connection.close()),
      };
    },
    ended: async () => void (await Promise.all(ending)),
  };
}
