import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { client } from "@agentclientprotocol/sdk";
import { WebSocket } from "ws";
import { temporaryFolder } from "../../testing/temporary-folder.ts";

test("[P3] [R4] the program serves ACP where it serves HTTP, and ends with a client that stays", async (t) => {
  const folder = await temporaryFolder(t);
  const main = fileURLToPath(new URL("../main.ts", import.meta.url));
  const env = { PATH: process.env["PATH"], HOME: folder, APTOVE_DATA_DIR: folder };
  const server = spawn(process.execPath, [main, "start", "--port", "0"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  t.after(() => server.kill("SIGKILL"));
  const lines: string[] = [];
  for await (const line of createInterface(server.stdout)) {
    lines.push(line);
    if (line.includes("Ctrl-C stops the server")) break;
  }
  const find = (pattern: RegExp): string => pattern.exec(lines.join("\n"))?.[1] ?? assert.fail(lines.join("\n"));
  const headers = { authorization: `Bearer ${find(/API key +(\S+)/)}` };
  const url = `${find(/open +http:\/\/([^/]+)/)}/acp`;
  const connection = client({ name: "test" }).connect(createWebSocketStream(`ws:${url}`, { WebSocket, headers }));
  await connection.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await connection.agent.request("session/new", { cwd: folder, mcpServers: [] });
  assert.match(sessionId, /^[0-9a-f-]{36}$/);
  server.kill("SIGTERM");
  const [[code]] = await Promise.all([once(server, "exit"), connection.closed]);
  assert.equal(code, 0);
});
