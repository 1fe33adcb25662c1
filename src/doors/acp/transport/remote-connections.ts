/** Connections over the network: whose each is, how many a user has, and what ends them (P3, R5). */
import type { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { runsTheServer, type Caller } from "../../../domain/caller.ts";
import { AptoveError } from "../../../domain/errors.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { AcpAgent, AcpConnection } from "../agent.ts";

export interface RemoteAcpOptions {
  engine: Pick<Engine, "devices" | "keys">;
  /** The agent of one connection. `deviceId`: whose it is, known to be the caller's; null: the client may name one. */
  agentFor(client: { caller: Caller; deviceId: string | null }): AcpAgent;
  limits?: Partial<RemoteLimits>;
}

export interface RemoteLimits {
  connectionsPerUserMax: number;
  messageBytesMax: number;
  /** A WebSocket that did not answer for so long is gone. */
  pingMs: number;
  /** An HTTP connection that nobody reads and nobody writes on for so long is gone. */
  idleMs: number;
}

/** Somebody who was let in, and the key by which they came. */
export interface RemoteClient {
  caller: Caller;
  secret: string;
}

/** What both transports share. */
export interface RemoteParts {
  server: AcpServer;
  limits: RemoteLimits;
  begin: ConnectionFactory;
}

/** A connection that is about to be; the SDK's server connects its agent, once or never. */
export interface Beginning {
  agent: { connect: AcpAgent["connect"] };
  /** Null: it was never connected. */
  connection(): AcpConnection | null;
  /** Calls when the key that it came with ends. */
  onKeyEnd(end: () => void): void;
  /** To be called where nothing came of it. */
  giveUp(): void;
}

export interface ConnectionFactory {
  /** Throws `forbidden`, `connections_limited`, `device_refused`, `request_invalid`. */
  begin(visitor: RemoteClient, deviceId: string | null): Promise<Beginning>;
  /** Resolves when nothing is open any more. */
  ended(): Promise<void>;
}

export function beginner({ engine, agentFor }: RemoteAcpOptions, limits: RemoteLimits): ConnectionFactory {
  const open = new Map<string, number>();
  const ending = new Set<Promise<void>>();
  return {
    begin: async ({ caller, secret }, named) => {
      // As whoever runs the server: the admins of another org are nobody here (H4).
      if (!runsTheServer(caller)) {
        const why = "a session works with the files and commands of the server's machine";
        throw new AptoveError("forbidden", `${why}, which only an admin's key of the org that runs it may`);
      }
      const deviceId = await engine.devices.resolve(caller, named);
      // Whoever speaks for a device sees its workspace and no more, whatever ids are guessed (W2).
      const visitor = deviceId === null ? caller : await engine.devices.scoped(caller, deviceId);
      const free = takeSlot(open, caller.userId, limits.connectionsPerUserMax);
      let connection: AcpConnection | null = null;
      const connect: AcpAgent["connect"] = (stream) => {
        const connected = agentFor({ caller: visitor, deviceId }).connect(stream);
        void connected.closed.then(free);
        ending.add(connected.ended);
        void connected.ended.finally(() => ending.delete(connected.ended));
        return (connection = connected);
      };
      return {
        agent: { connect },
        connection: () => connection,
        onKeyEnd: (end) => {
          const unwatch = engine.keys.watch({ secret, caller }, end);
          void connection?.closed.then(unwatch);
        },
        giveUp: () => (connection === null ? free() : connection.close()),
      };
    },
    ended: async () => void (await Promise.all(ending)),
  };
}

/** Gives what frees it, once or more often. */
function takeSlot(open: Map<string, number>, userId: string, max: number): () => void {
  const count = open.get(userId) ?? 0;
  if (count >= max) {
    const detail = `${count} of your connections are open, and the limit is ${max}; close one`;
    throw new AptoveError("connections_limited", detail, { facts: { limit: max, retryAfterSeconds: 1 } });
  }
  open.set(userId, count + 1);
  let isFree = false;
  return () => {
    if (isFree) return;
    isFree = true;
    const left = (open.get(userId) ?? 1) - 1;
    if (left === 0) open.delete(userId);
    else open.set(userId, left);
  };
}
