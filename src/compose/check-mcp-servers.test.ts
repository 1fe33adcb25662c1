import assert from "node:assert/strict";
import { test } from "node:test";
import { hostile } from "../../testing/mcp-world.ts";
import { checkMcpServers } from "./check-mcp-servers.ts";

test("[P5] a server that does not start in time has failed, and is not reported as ready", async () => {
  const statuses = await checkMcpServers({
    servers: [hostile("never-starts")],
    folders: [],
    logs: null,
    env: process.env,
    version: "0.0.0-test",
    stop: new AbortController().signal,
    startMs: 300,
  });
  assert.deepEqual(
    statuses.map(({ state, failure }) => ({ state, failure })),
    [{ state: "failed", failure: "did not start within 1 s" }],
  );
});
