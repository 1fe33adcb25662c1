/** The sessions for other agents at the server's `/mcp`, over streamable HTTP (O7). The HTTP door has authenticated the client before. */
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { AptoveClient } from "../../client/client.ts";
import { AptoveError } from "../../domain/errors.ts";
import { mcpPlace } from "./place.ts";
import { sessionServer } from "./session-server.ts";

/** The door in the form that the HTTP door can mount. */
export interface McpDoor {
  path: "/mcp";
  methods: readonly string[];
  bodyBytesMax: number;
  fetch(request: Request, authenticated: { secret: string }): Promise<Response>;
  upgrade(): Promise<void>;
}

export interface McpDoorOptions {
  /** Returns a client with this key. */
  clientFor(secret: string): AptoveClient;
  version: string;
  bodyBytesMax: number;
  report: (message: string, error?: unknown) => void;
}

export function mcpDoor({ clientFor, version, bodyBytesMax, report }: McpDoorOptions): McpDoor {
  const onerror = (error: Error): void => report("a request to /mcp", error);
  return {
    ...mcpPlace,
    bodyBytesMax,
    // No state is between two requests, so any server of a team takes any of them.
    fetch: async (request, { secret }) =>
      await createMcpHandler(() => sessionServer(clientFor(secret), version), { onerror }).fetch(request),
    upgrade: async () => {
      throw new AptoveError("not_found", "/mcp takes requests, and no WebSockets");
    },
  };
}
