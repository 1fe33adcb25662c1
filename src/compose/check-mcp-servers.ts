/** Starts MCP servers to see what becomes of them, and ends them again (P5). */
import { limits } from "../domain/limits.ts";
import type { McpServer } from "../tools/session-tools.ts";
import { type McpServerStatus, openMcpTools } from "../tools/mcp/open-mcp-tools.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import { onAbort } from "../system/abort.ts";
import { workspacePaths } from "../workspace/files/workspace-paths.ts";

export interface CheckMcpServers {
  servers: readonly McpServer[];
  folders: readonly string[];
  /** Null: they have none. */
  logs: { folder: DataFolder; workspaceId: string } | null;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  stop: AbortSignal;
  /** How long a start may take; absent: what `limits` say. */
  startMs?: number;
}

/** Rejects with the reason of `stop` when it aborts; the servers have ended by then. */
export async function checkMcpServers({
  stop,
  startMs = limits.mcpStartMs,
  logs,
  ...request
}: CheckMcpServers): Promise<McpServerStatus[]> {
  // Each is ready or has failed before the waiting is over, and what failed stays so.
  const logFolder = logs === null ? null : workspacePaths(logs.folder, logs.workspaceId).mcp;
  const mcp = openMcpTools({
    ...request,
    logFolder,
    times: { startMs, waitMs: 2 * limits.mcpStartMs, restartMs: Infinity },
  });
  const removeListener = onAbort(stop, () => void mcp.close());
  try {
    await mcp.tools();
    stop.throwIfAborted();
    return mcp.status();
  } finally {
    removeListener();
    await mcp.close();
  }
}
