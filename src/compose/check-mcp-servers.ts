/** Starts MCP servers, reports which of them work, and stops them again (P5). */
import { limits } from "../domain/limits.ts";
import type { McpServer } from "../tools/session-tools.ts";
import { type McpServerStatus, openMcpTools } from "../tools/mcp/open-mcp-tools.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import { onAbort } from "../system/abort.ts";
import { workspacePaths } from "../workspace/files/workspace-paths.ts";

export interface McpServersCheck {
  servers: readonly McpServer[];
  folders: readonly string[];
  /** Their logs. Null: they have no logs. */
  logs: { folder: DataFolder; workspaceId: string } | null;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  stop: AbortSignal;
  /** Timeout of a start in milliseconds. Default: the one in `limits`. */
  startMs?: number;
}

/** Returns the state of each server. Rejects with the reason of `stop` when it aborts, after the servers have ended. */
export async function checkMcpServers({
  stop,
  startMs = limits.mcpStartMs,
  logs,
  ...request
}: McpServersCheck): Promise<McpServerStatus[]> {
  // The wait is longer than a start may take, so each server is ready or has failed. A failed one is not restarted.
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
