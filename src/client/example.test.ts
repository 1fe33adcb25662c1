/** The example of the typed client in docs/library.md runs as it stands, against a real server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { listen } from "../doors/http/listen.ts";
import { testDoor } from "../../testing/http-door.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";

const page = readFileSync(new URL("../../docs/library.md", import.meta.url), "utf8");

test("[Y1] the client's example runs as it stands", async (t) => {
  const example = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].find((match) =>
    match[1]?.includes('"aptove/client"'),
  );
  const program = join(await temporaryFolder(t), "ask.ts");
  const client = JSON.stringify(new URL("./client.ts", import.meta.url).href);
  writeFileSync(program, (example?.[1] ?? "").replace('"aptove/client"', client));
  const door = await testDoor(t, { script: () => "in cart.ts" });
  const server = await listen(door.door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  const env = { ...process.env, APTOVE_URL: server.url, APTOVE_KEY: door.admin.key };
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(errors, "");
  assert.match(output, /^in cart\.ts\n2 turns; the last one used \d+ tokens\n$/);
});
