/**
 * ACP over HTTP: messages of the client are POSTed, those of the agent come as events. The connection's id says which
 * one is meant, and is worth nothing without the key that opened it.
 */
import { AptoveError } from "../../../domain/errors.ts";
import { onAbort } from "../../../system/abort.ts";
import type { AcpConnection } from "../agent.ts";
import { formFault } from "./message-form.ts";
import type { RemoteParts, RemoteClient } from "./remote-connections.ts";

interface Open {
  connection: AcpConnection;
  secret: string;
  /** Event streams that somebody reads. */
  streams: number;
  /** When it was used last, in milliseconds of the process. */
  usedAt: number;
}

export interface HttpConnections {
  fetch(request: Request, visitor: RemoteClient): Promise<Response>;
  close(): void;
}

const connectionHeader = "acp-connection-id";
export const deviceHeader = "x-aptove-device";

export function httpConnections(parts: RemoteParts): HttpConnections {
  const open = new Map<string, Open>();
  const { server, limits } = parts;
  // A client that is gone says nothing: its connection is known by that nobody uses it.
  const timer = setInterval(() => closeIdle(open, limits.idleMs), Math.min(limits.idleMs, limits.pingMs)).unref();
  return {
    fetch: async (given, visitor) => {
      const request = given.method === "POST" ? await checked(given) : given;
      const id = request.headers.get(connectionHeader);
      if (id === null)
        return request.method === "POST"
          ? await begin(parts, open, { request, visitor })
          : await server.handleRequest(request);
      const connection = open.get(id);
      // Somebody else's is as good as none.
      if (connection?.secret !== visitor.secret) throw new AptoveError("not_found", "there is no such connection");
      return await use(parts, connection, request);
    },
    close: () => clearInterval(timer),
  };
}

/** Throws `request_invalid` for a message whose form would hold up everybody else. */
async function checked(request: Request): Promise<Request> {
  const { method, headers, signal, url } = request;
  const body = await request.text();
  const fault = formFault(body);
  if (fault !== null) throw new AptoveError("request_invalid", fault);
  return new Request(url, { method, headers, signal, body });
}

/** `initialize` opens a connection; anything else that names none is refused by the SDK's server. */
async function begin(
  { server, begin: beginner }: RemoteParts,
  open: Map<string, Open>,
  { request, visitor }: { request: Request; visitor: RemoteClient },
): Promise<Response> {
  const beginning = await beginner.begin(visitor, request.headers.get(deviceHeader));
  const response = await server.handleRequest(request, { agent: beginning.agent });
  const id = response.headers.get(connectionHeader);
  const connection = beginning.connection();
  if (id === null || connection === null) {
    beginning.giveUp();
    return response;
  }
  open.set(id, { connection, secret: visitor.secret, streams: 0, usedAt: performance.now() });
  void connection.closed.then(() => open.delete(id));
  beginning.onKeyEnd(() => connection.close());
  return response;
}

async function use({ server }: RemoteParts, open: Open, request: Request): Promise<Response> {
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

function closeIdle(open: ReadonlyMap<string, Open>, idleMs: number): void {
  const since = performance.now() - idleMs;
  for (const { connection, streams, usedAt } of open.values()) {
    if (streams === 0 && usedAt < since) connection.close();
  }
}
