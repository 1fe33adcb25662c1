/** `aptove mcp serve`: one client of the Model Context Protocol on standard input and output (O7). */
import type { Readable, Writable } from "node:stream";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { AptoveClient } from "../../client/client.ts";
import { sessionServer } from "./session-server.ts";

export interface StdioMcp {
  client: AptoveClient;
  version: string;
  io: { stdin: Readable; stdout: Writable };
  /** Ends the connection when it aborts. */
  stop: AbortSignal;
  report: (message: string, error?: unknown) => void;
}

/** Serves until the client closes its end, or until `stop`. */
export async function serveMcpStdio({ client, version, io, stop, report }: StdioMcp): Promise<void> {
  const ended = Promise.withResolvers<void>();
  for (const event of ["end", "close"] as const) io.stdin.once(event, () => ended.resolve());
  const connection = serveStdio(() => sessionServer(client, version), {
    transport: new StdioServerTransport(io.stdin, io.stdout),
    onerror: (error) => report("the MCP connection", error),
  });
  stop.addEventListener("abort", () => ended.resolve(), { once: true });
  if (stop.aborted) ended.resolve();
  await ended.promise;
  await connection.close();
}
