import assert from "node:assert/strict";
import { test } from "node:test";
import { hostile } from "../../testing/mcp-world.ts";
import type { McpServer } from "../tools/session-tools.ts";
import { checkMcpServers } from "./check-mcp-servers.ts";

/** A program that is no MCP server, and starts at once also on a machine that is busy. */
const greeter: McpServer = {
  type: "stdio",
  name: "greeter",
  command: "sh",
  args: ["-c", "echo hello; cat >/dev/null"],
  env: {},
};

test("[P5] a server that does not start in time has failed, and is not reported as ready", async () => {
  const statuses = await checkMcpServers({
    servers: [hostile("never-starts"), greeter],
    folders: [],
    logs: null,
    env: process.env,
    version: "0.0.0-test",
    stop: new AbortController().signal,
    startMs: 1_500,
  });
  assert.deepEqual(
    statuses.map(({ state, failure }) => ({ state, failure })),
    [
      { state: "failed", failure: "did not start within 2 s" },
      {
        state: "failed",
        failure: "did not start within 2 s; the last error of its connection: not a message of the protocol: hello",
      },
    ],
  );
});
