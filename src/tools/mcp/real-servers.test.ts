/** The reference servers of MCP, over both transports (P5). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { mcpWorld, until } from "../../../testing/mcp-world.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import type { McpServer } from "../session-tools.ts";

const mains = {
  everything: fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js")),
  filesystem: fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js")),
};

function local(name: keyof typeof mains, ...args: string[]): McpServer {
  return { type: "stdio", name, command: process.execPath, args: [mains[name], ...args], env: {} };
}

test("[P5] server-everything: text, images, resources, structured content, progress and errors", async (context) => {
  const world = mcpWorld(context, [local("everything")]);
  const result = async (tool: string, args = {}): Promise<string> =>
    (await world.call(`everything__${tool}`, args)).output;
  assert.equal((await world.names()).length, 13);
  assert.equal(world.mcp.status()[0]?.protocol, "2025-11-25");
  assert.equal(await result("echo", { message: "grüß dich" }), "Echo: grüß dich");
  const { content: [image] = [] } = await world.call("everything__get-tiny-image", {});
  assert.deepEqual(image?.type === "image" && image.mimeType, "image/png");
  assert.match(await result("get-tiny-image"), /\[image, \d+ (?:B|KB) png\]/);
  assert.match(
    await result("get-resource-reference", { resourceType: "Text", resourceId: 1 }),
    /\[resource demo:\/\/resource/,
  );
  assert.match(await result("get-structured-content", { location: "Chicago" }), /"temperature"/);
  const shown: string[] = [];
  const { output } = await world.call(
    "everything__trigger-long-running-operation",
    { duration: 0.2, steps: 2 },
    { showOutput: (text) => shown.push(text) },
  );
  assert.match(output, /completed/);
  assert.equal(shown[0], "1 of 2\n");
  const wrong = await world.call("everything__get-sum", { a: "one" });
  assert.equal(wrong.isError, true);
  assert.match(wrong.output, /Invalid/);
});

test("[P5] server-filesystem: reads only in the folders of the session, which it receives as roots", async (context) => {
  const [asked, session] = [await temporaryFolder(context), await temporaryFolder(context)];
  await writeFile(join(session, "a.txt"), "hello");
  const world = mcpWorld(context, [local("filesystem", asked)], { folders: [session] });
  const read = async (path: string) => await world.call("filesystem__read_text_file", { path });
  await world.mcp.tools();
  // It requests the folders after its start.
  await until(async () => (await world.call("filesystem__list_allowed_directories")).output.includes(session));
  assert.equal((await read(join(session, "a.txt"))).output, "hello");
  assert.equal((await read("a.txt")).isError, false);
  const outside = await read("/etc/passwd");
  assert.equal(outside.isError, true);
  assert.match(outside.output, /Access denied/);
  assert.equal((await world.tool("filesystem__write_file")).needsApproval({}), true);
  assert.equal((await world.tool("filesystem__read_text_file")).needsApproval({}), false);
});

test("[P5] server-everything over the older transport with one stream", async (context) => {
  const url = await serveEverything(context, "sse");
  const world = mcpWorld(context, [{ type: "sse", name: "older", url, headers: {} }]);
  const sum = async (): Promise<string> => (await world.call("older__get-sum", { a: 2, b: 3 })).output;
  assert.equal(await sum(), "The sum of 2 and 3 is 5.");
  assert.deepEqual(world.mcp.status()[0]?.state, "ready");
});

test("[P5] server-everything over streamable HTTP", async (context) => {
  const url = await serveEverything(context, "streamableHttp");
  const world = mcpWorld(context, [{ type: "http", name: "remote", url, headers: {} }]);
  assert.deepEqual(await world.call("remote__get-sum", { a: 2, b: 3 }), {
    output: "The sum of 2 and 3 is 5.",
    isError: false,
  });
  assert.deepEqual(world.mcp.status()[0]?.state, "ready");
});

async function serveEverything(context: TestContext, transport: "sse" | "streamableHttp"): Promise<string> {
  const port = await freePort();
  const server = spawn(process.execPath, [mains.everything, transport], {
    env: { ...process.env, PORT: `${port}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  context.after(() => server.kill("SIGKILL"));
  let words = "";
  server.stderr.on("data", (chunk: Buffer) => (words += chunk.toString()));
  await until(() => words.includes(`${port}`));
  return `http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}`;
}

/** Returns a port that was free a moment ago, because the server cannot choose one itself. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
