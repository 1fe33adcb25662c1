/** `aptove mcp serve`: one client of the Model Context Protocol on standard input and output (O7). */
import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { AptoveClient } from "../../client/client.ts";
import { limits } from "../../domain/limits.ts";
import { oneLine } from "../../domain/one-line.ts";
import { whenAborted, withinMs } from "../../system/abort.ts";
import { LineTransport } from "./line-transport.ts";
import { sessionServer } from "./session-server.ts";

export interface StdioMcp {
  client: AptoveClient;
  version: string;
  io: { stdin: Readable; stdout: Writable };
  /** Ends the connection when it aborts. */
  stop: AbortSignal;
  report: (message: string, error?: unknown) => void;
}

/** Serves until the client closes its end and its requests are answered, for a limited time, or until `stop`. */
export async function serveMcpStdio({ client, version, io, stop, report }: StdioMcp): Promise<void> {
  const transport = new LineTransport(io);
  const connection = serveStdio(() => sessionServer(client, version), {
    transport,
    onerror: ({ message }) => report(`the MCP connection: ${oneLine(message)}`),
  });
  const stopped = whenAborted(stop);
  await Promise.race([transport.inputOver, stopped]);
  // The client closed its output and may still read.
  await withinMs(limits.shutdownGraceMs, Promise.race([transport.answered, stopped]));
  await connection.close();
}
