/**
 * The official conformance runner of MCP plays the client of our server at `/mcp` (O7): every scenario that needs no tools of its
 * own. The others ask for tools and prompts of a model server, such as `test_simple_text`; in `server-stateless` and `caching` the
 * checks that do not need them pass.
 */
import { test, type TestContext } from "node:test";
import { listen } from "../../src/doors/http/listen.ts";
import { testMcpDoor } from "../mcp-door.ts";
import { passes } from "./runner.ts";

const released = ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"];
const newest = [
  "tools-list",
  "resources-list",
  "sep-2164-resource-not-found",
  "http-header-validation",
  "dns-rebinding-protection",
];

for (const scenario of released) {
  test(`[O7] MCP conformance of the server: ${scenario}`, async (t) => {
    await passes("conformance", ["server", "--url", await served(t), "--scenario", scenario]);
  });
}
for (const scenario of newest) {
  test(`[O7] MCP conformance of the server, 2026-07-28: ${scenario}`, async (t) => {
    const args = ["server", "--url", await served(t), "--scenario", scenario, "--spec-version", "2026-07-28"];
    await passes("conformance-next", args);
  });
}

/** Returns the address of a server. The runner has no key, so each of its requests gets one here. */
async function served(t: TestContext): Promise<string> {
  const { door, admin, engine } = await testMcpDoor(t);
  const running = await engine.turns.run(admin, { instruction: "Where are prices rounded?" });
  await running.finished;
  const server = await listen(
    {
      ...door,
      fetch: (request) => {
        request.headers.set("authorization", `Bearer ${admin.key}`);
        return door.fetch(request);
      },
    },
    { host: "127.0.0.1", port: 0 },
  );
  t.after(() => server.close());
  return `${server.url}/mcp`;
}
