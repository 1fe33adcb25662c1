/**
 * ACP over HTTP: the client POSTs its messages, and receives those of the agent as server-sent events. A header has the id of
 * the connection. Only the key that opened a connection may use it.
 */
import { AptoveError } from "../../../domain/errors.ts";
import { onAbort } from "../../../system/abort.ts";
import type { AcpConnection } from "../agent.ts";
import { formFault } from "./message-form.ts";
import type { RemoteDependencies, RemoteClient } from "./remote-connections.ts";

interface OpenConnection {
  connection: AcpConnection;
  secret: string;
  /** Number of open event streams. */
  streams: number;
  /** Time of the last use, in milliseconds of the process's clock. */
  usedAt: number;
}

export interface HttpConnections {
  fetch(request: Request, client: RemoteClient): Promise<Response>;
  close(): void;
}

const connectionHeader = "acp-connection-id";
export const deviceHeader = "x-aptove-device";

export function httpConnections(parts: RemoteDependencies): HttpConnections {
  const open = new Map<string, OpenConnection>();
  const { server, limits } = parts;
  // A client that has gone sends no message. So a connection without use is closed.
  const timer = setInterval(() => closeIdle(open, limits.idleMs), Math.min(limits.idleMs, limits.pingMs)).unref();
  return {
    fetch: async (given, client) => {
      const request = given.method === "POST" ? await checked(given) : given;
      const id = request.headers.get(connectionHeader);
      if (id === null)
        return request.method === "POST"
          ? await begin(parts, open, { request, client })
          : await server.handleRequest(request);
      const connection = open.get(id);
      // A connection of another key gets the same answer as one that does not exist.
      if (connection?.secret !== client.secret)
        throw new AptoveError("not_found", "there is no such connection; open one with initialize");
      return await use(parts, connection, request);
    },
    close: () => clearInterval(timer),
  };
}

/** Throws `request_invalid` for a message that would block the process. */
async function checked(request: Request): Promise<Request> {
  const { method, headers, signal, url } = request;
  const body = await request.text();
  const fault = formFault(body);
  if (fault !== null) throw new AptoveError("request_invalid", fault);
  return new Request(url, { method, headers, signal, body });
}

/** Opens a connection for `initialize`. The SDK's server refuses any other message without a connection. */
async function begin(
  { server, connections }: RemoteDependencies,
  open: Map<string, OpenConnection>,
  { request, client }: { request: Request; client: RemoteClient },
): Promise<Response> {
  const pending = await connections.begin(client, request.headers.get(deviceHeader));
  const response = await server.handleRequest(request, { agent: pending.agent });
  const id = response.headers.get(connectionHeader);
  const connection = pending.connection();
  if (id === null || connection === null) {
    pending.giveUp();
    return response;
  }
  open.set(id, { connection, secret: client.secret, streams: 0, usedAt: performance.now() });
  void connection.closed.then(() => open.delete(id));
  pending.onKeyEnd(() => connection.close());
  return response;
}

async function use({ server }: RemoteDependencies, open: OpenConnection, request: Request): Promise<Response> {
  open.usedAt = performance.now();
  const response = await server.handleRequest(request);
  if (request.method !== "GET" || !response.ok) return response;
  open.streams += 1;
  onAbort(request.signal, () => {
    open.streams -= 1;
    open.usedAt = performance.now();
  });
  return response;
}

function closeIdle(open: ReadonlyMap<string, OpenConnection>, idleMs: number): void {
  const since = performance.now() - idleMs;
  for (const { connection, streams, usedAt } of open.values()) {
    if (streams === 0 && usedAt < since) connection.close();
  }
}
