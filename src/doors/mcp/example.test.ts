/** The program in docs/mcp-server.md runs as it stands, against a real server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { testMcpDoor } from "../../../testing/mcp-door.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { listen } from "../http/listen.ts";

const page = readFileSync(new URL("../../../docs/mcp-server.md", import.meta.url), "utf8");

test("[O7] the program of the page runs as it stands", async (t) => {
  const example = /^```ts\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "";
  const program = join(await temporaryFolder(t), "ask.ts");
  const library = "@modelcontextprotocol/client";
  writeFileSync(program, example.replace(`"${library}"`, JSON.stringify(import.meta.resolve(library))));
  const { door, admin } = await testMcpDoor(t, { script: () => "In cart.ts." });
  const server = await listen(door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  const env = { ...process.env, APTOVE_URL: server.url, APTOVE_KEY: admin.key };
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(errors, "");
  assert.equal(output, "In cart.ts.\n1\n");
});
