/** The sessions for other agents (O7): at the server's `/mcp`, as clients of the HTTP door without a socket, and for `aptove mcp serve`. */
import { createClient } from "../../client/client.ts";
import type { Aptove } from "../../compose.ts";
import type { McpServeSetup } from "../../doors/cli/ports.ts";
import { mcpDoor, type McpDoor } from "../../doors/mcp/mcp-door.ts";
import { serveMcpStdio } from "../../doors/mcp/serve-stdio.ts";
import { aptoveVersion } from "../../version.ts";

/** `door` answers the client's requests. It needs the same keys as the door that has the mount. */
export function mcpMount(
  { configuration, report }: Pick<Aptove, "configuration" | "report">,
  door: { fetch(request: Request): Promise<Response> },
): McpDoor {
  return mcpDoor({
    clientFor: (key) => createClient({ url: "http://localhost", key, fetch: (request) => door.fetch(request) }),
    version: aptoveVersion(),
    bodyBytesMax: configuration.limits.requestBodyBytesMax,
    report,
  });
}

export async function serveMcpClient(setup: McpServeSetup): Promise<void> {
  await serveMcpStdio({ ...setup, version: aptoveVersion() });
}
