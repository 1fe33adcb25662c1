/**
 * The small proxy in front of the servers. Like a load balancer, it sends each request to the next server that reports
 * itself ready. It stores nothing, retries only requests that no server has seen, and cuts a stream if its server is gone.
 */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Balancer {
  url: string;
  close(): Promise<void>;
}

const lookEveryMs = 250;
const readyTimeoutMs = 1_000;

/** `servers` returns the current addresses: a restarted server has another one. */
export async function startBalancer(servers: () => readonly string[]): Promise<Balancer> {
  const ready = new Map<string, boolean>();
  let turn = 0;
  const look = async (): Promise<void> => {
    await Promise.all(
      servers().map(async (url) => {
        try {
          const { ok } = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(readyTimeoutMs) });
          ready.set(url, ok);
        } catch {
          ready.set(url, false);
        }
      }),
    );
  };
  await look();
  const timer = setInterval(() => void look(), lookEveryMs);
  const inOrder = (): string[] => {
    const all = servers();
    turn += 1;
    const from = turn % Math.max(1, all.length);
    const rotated = [...all.slice(from), ...all.slice(0, from)];
    // If no server is ready, the answer of one of them states why.
    return rotated.toSorted((a, b) => Number(ready.get(b) ?? true) - Number(ready.get(a) ?? true));
  };
  const server = createServer((incoming, outgoing) => forward(incoming, outgoing, inOrder()));
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      clearInterval(timer);
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, [first, ...others]: readonly string[]): void {
  if (first === undefined) return void outgoing.writeHead(502).end();
  const { hostname, port, host } = new URL(first);
  const { method, url: path, headers } = incoming;
  const outbound = send({ hostname, port, method, path, headers: { ...headers, host } });
  outbound.on("response", (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(outgoing);
    // Half an answer must not look like a complete one.
    response.on("error", () => outgoing.destroy());
    response.on("close", () => response.complete || outgoing.destroy());
  });
  outbound.on("error", (error: NodeJS.ErrnoException) => {
    if (outgoing.headersSent) return void outgoing.destroy();
    const isUnseen = error.code === "ECONNREFUSED";
    if (isUnseen && others.length > 0) return forward(incoming, outgoing, others);
    outgoing.writeHead(502).end();
  });
  outgoing.on("close", () => outbound.destroy());
  incoming.pipe(outbound);
}
