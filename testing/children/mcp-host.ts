/** Starts the hostile MCP server of its argument, and prints the server's process id once it answers. Then it waits to be killed. */
import { fileURLToPath } from "node:url";
import { StdioTransport } from "../../src/tools/mcp/stdio-transport.ts";

const [mode = ""] = process.argv.slice(2);
const transport = new StdioTransport({
  command: process.execPath,
  args: [fileURLToPath(new URL("hostile-mcp-server.ts", import.meta.url)), mode],
  env: {},
  cwd: null,
  onStderr: () => undefined,
});
Object.assign(transport, { onmessage: () => process.stdout.write(`${transport.pid}\n`) });
await transport.start();
await transport.send({ jsonrpc: "2.0", id: 1, method: "ping" });
