/** Starts MCP servers to see what becomes of them, and ends them again (P5). */
import { limits } from "../domain/limits.ts";
import type { McpServer } from "../tools/session-tools.ts";
import { type McpServerStatus, openMcpTools } from "../tools/mcp/open-mcp-tools.ts";

export interface CheckMcpServers {
  servers: readonly McpServer[];
  folders: readonly string[];
  logFolder: string | null;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  stop: AbortSignal;
}

/** Rejects with the reason of `stop` when it aborts; the servers have ended by then. */
export async function checkMcpServers({ stop, ...request }: CheckMcpServers): Promise<McpServerStatus[]> {
  const mcp = openMcpTools({ ...request, times: { waitMs: limits.mcpStartMs } });
  const close = (): void => void mcp.close();
  stop.addEventListener("abort", close, { once: true });
  try {
    await mcp.tools();
    stop.throwIfAborted();
    return mcp.status();
  } finally {
    stop.removeEventListener("abort", close);
    await mcp.close();
  }
}
