/** docs/http.md is true: its routes are those of the table, and its examples work unchanged. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { paths, type RouteName } from "../../protocol/routes/paths.ts";
import { routes } from "../../protocol/routes/routes.ts";
import type { Retriever } from "../../retrieval/retriever.ts";
import { managedWorkspaces } from "../../../testing/managed-workspaces.ts";
import { testDoor, type TestDoor } from "../../../testing/http-door.ts";
import { listen } from "./listen.ts";

const root = join(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/http.md"), "utf8");

test("[H2] the page lists the routes of the table, each with what it needs and does", () => {
  const listed = [...page.matchAll(/^\| `([A-Z]+ \/[^`]*)` +\| (\w+) +\| (.*?) +\|$/gm)].map((match) => match.slice(1));
  const table = Object.entries(paths).map(([name, { method, path }]) => {
    const { access, summary } = routes[name as RouteName];
    return [`${method} ${path}`, access, summary];
  });
  assert.deepEqual(listed, table);
});

const examples = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
const hasCurl = spawnSync("curl", ["--version"]).status === 0;

test(
  "[H1] [V2] [H2] every example of the page works",
  { skip: hasCurl ? false : "curl is not installed" },
  async (t) => {
    const tools = [{ name: "run_tests", parameters: { type: "object" } }];
    const retriever: Retriever = {
      search: async () => [],
      index: () => assert.fail("nothing is indexed here"),
      list: async () => [],
      close: async () => {},
    };
    const door: TestDoor = await testDoor(t, {
      workspaces: managedWorkspaces(() => door.deps).parts,
      // The examples name a repository. It has an index in which nothing matches.
      retrievers: new Map([["local", retriever]]),
      script: ({ tools: offered }) =>
        offered.length === 0 ? "as you like" : [{ calls: "run_tests", callId: "call_1" }],
    });
    const server = await listen(door.door, { host: "127.0.0.1", port: 0 });
    t.after(() => server.close());
    assert.ok(examples.length >= 16);
    for (const example of examples) {
      const waiting = example.includes("toolResults") ? { tools } : {};
      const { sessionId, turnId, finished } = await door.engine.turns.run(door.admin, {
        instruction: "before",
        ...waiting,
      });
      await finished;
      const ids = { SESSION: sessionId, TURN: turnId };
      const env = { ...process.env, URL: server.url, KEY: door.admin.key, ...ids };
      const script = `set -e\ncurl() { command curl --fail-with-body --silent --show-error "$@"; }\n${example}`;
      const child = spawn("sh", ["-c", script], { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (output += String(piece)));
      const status = await new Promise((resolve) => child.on("close", resolve));
      assert.equal(status, 0, `${example}\n${output}`);
      assert.ok(output.length > 0, example);
    }
  },
);
