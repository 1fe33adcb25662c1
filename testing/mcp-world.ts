/** MCP servers for tests: opened, called like the engine does, and closed after the test. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { type McpTools, type McpToolsRequest, openMcpTools } from "../src/tools/mcp/open-mcp-tools.ts";
import type { McpServer } from "../src/tools/session-tools.ts";
import type { Tool, ToolResult } from "../src/tools/tool.ts";

export interface McpWorld {
  mcp: McpTools;
  /** Calls a tool by the name that the model sees. */
  tool(name: string): Promise<Tool>;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  /** Returns the tool names that the model sees, in order. */
  names(): Promise<string[]>;
}

export interface CallOptions {
  signal?: AbortSignal;
  showOutput?(text: string): void;
}

export function mcpWorld(
  context: TestContext,
  servers: readonly McpServer[],
  more: Partial<McpToolsRequest> = {},
): McpWorld {
  const mcp = openMcpTools({ servers, logFolder: null, env: process.env, version: "0.0.0-test", ...more });
  context.after(() => mcp.close());
  const tool = async (name: string): Promise<Tool> => {
    const found = (await mcp.tools()).find(({ definition }) => definition.name === name);
    assert(found !== undefined, `there is no ${name}: ${mcp.warnings().join("; ")}`);
    return found;
  };
  const call = async (name: string, args = {}, options: CallOptions = {}): Promise<ToolResult> =>
    await (
      await tool(name)
    ).run(args, {
      sessionId: "session",
      turnId: "turn",
      callId: "call",
      signal: options.signal ?? new AbortController().signal,
      showOutput: options.showOutput ?? (() => undefined),
      readOutput: async () => null,
    });
  return { mcp, tool, call, names: async () => (await mcp.tools()).map(({ definition }) => definition.name) };
}

const hostileMain = fileURLToPath(new URL("children/hostile-mcp-server.ts", import.meta.url));

/** Returns a server that has its mode as its name. A call may take one second. */
export function hostile(mode: string, more: Partial<Extract<McpServer, { type: "stdio" }>> = {}): McpServer {
  const args = [hostileMain, mode, ...(more.args ?? [])];
  return { type: "stdio", name: mode, command: process.execPath, env: {}, timeMs: 1_000, ...more, args };
}

/** Polls until the condition is true. A test that waits in vain ends by its own time limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(2);
}
