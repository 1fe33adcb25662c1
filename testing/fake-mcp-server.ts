/**
 * An MCP server over streamable HTTP, in this process and on a free port. It starts sessions and lists one tool, `ask`;
 * the test decides how it answers a call.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";

export interface McpRequest {
  id?: number;
  method: string;
  params?: Record<string, unknown>;
}

export interface FakeMcp {
  url: string;
  /** The received messages, oldest first. `GET` and `DELETE` requests are listed by their HTTP method. */
  methods: string[];
  headers: IncomingMessage["headers"][];
  /** The stream for the server's own messages, once the client has opened it. */
  standing: Promise<ServerResponse>;
}

export interface FakeMcpOptions {
  /** Handles a request first. True: it has answered the request. */
  before?(request: McpRequest, response: ServerResponse, headers: IncomingMessage["headers"]): boolean;
  call(request: McpRequest, response: ServerResponse): void;
  tools?(): unknown[];
}

export async function fakeMcp(context: TestContext, options: FakeMcpOptions): Promise<FakeMcp> {
  const methods: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const { promise: standing, resolve: stands } = Promise.withResolvers<ServerResponse>();
  const server = createServer((incoming, response) => {
    void (async () => {
      headers.push(incoming.headers);
      if (incoming.method === "GET") {
        methods.push("GET");
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        stands(response);
        return;
      }
      const body = await text(incoming);
      if (incoming.method === "DELETE") {
        methods.push("DELETE");
        response.end();
        return;
      }
      const request = JSON.parse(body) as McpRequest;
      methods.push(request.method);
      if (options.before?.(request, response, incoming.headers) !== true) answer(request, response, options);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, methods, headers, standing };
}

function answer(request: McpRequest, response: ServerResponse, options: FakeMcpOptions): void {
  const { id, method } = request;
  if (method === "initialize") {
    const result = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: "fake", version: "1" },
    };
    response.setHeader("mcp-session-id", "session-1");
    send(response, { id, result });
  } else if (method === "tools/list") {
    send(response, { id, result: { tools: options.tools?.() ?? [{ name: "ask", inputSchema: { type: "object" } }] } });
  } else if (method === "tools/call") {
    options.call(request, response);
  } else if (id === undefined) {
    response.writeHead(202).end();
  } else {
    send(response, { id, error: { code: -32_601, message: "Method not found" } });
  }
}

/** Sends one message as JSON. */
export function send(response: ServerResponse, message: Record<string, unknown>): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

export function textResult(id: number | undefined, words: string): Record<string, unknown> {
  return { id, result: { content: [{ type: "text", text: words }] } };
}

/** Sends one event of a stream, and begins the stream if necessary. */
export function sendEvent(response: ServerResponse, message: Record<string, unknown>, id?: string): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
}
