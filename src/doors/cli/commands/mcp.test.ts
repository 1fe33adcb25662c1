import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { childPath } from "../../../../testing/children/path.ts";
import { cliWorld } from "../../../../testing/cli.ts";
import { until } from "../../../../testing/mcp-world.ts";

const hostile = childPath("hostile-mcp-server.ts");

function stdio(name: string, mode: string): string {
  return `[mcp_servers.${name}]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([hostile, mode])}\n`;
}

test("[P5] mcp list shows the configured servers and where each is configured, and connects to none", async (context) => {
  const world = await cliWorld(context);
  assert.match((await world.run(["mcp", "list"])).stderr, /no MCP server is configured/);
  const { stdout: made } = await world.run(["workspace", "create"]);
  const id = made.trim();
  const global = join(world.dataDir, "config.toml");
  const own = join(world.dataDir, "workspaces", id, "config.toml");
  writeFileSync(
    global,
    '[mcp_servers.files]\ncommand = "no-such-command"\nargs = ["docs", "--token=do-not-show-me"]\n',
  );
  writeFileSync(
    own,
    '[mcp_servers.files]\nenabled = false\n[mcp_servers.web]\nurl = "https://example.org/mcp?key=abcdefghijkl"\nheaders.Authorization = "Bearer ${NO_SUCH}"\n',
  );
  const { exit, stdout } = await world.run(["mcp", "list", "--json"]);
  assert.equal(exit, 0);
  assert.deepEqual(JSON.parse(stdout), {
    workspace: null,
    servers: [
      {
        name: "files",
        type: "stdio",
        place: "no-such-command docs --token=do-***-me",
        state: "on",
        layer: "global",
        source: global,
      },
    ],
  });
  const inWorkspace = JSON.parse((await world.run(["mcp", "list", "--workspace", id, "--json"])).stdout) as {
    servers: { name: string; state: string; layer: string; source: string; place: string }[];
  };
  assert.deepEqual(
    inWorkspace.servers.map(({ name, state, layer }) => [name, state, layer]),
    [
      ["files", "off", "global"],
      ["web", "incomplete", "workspace"],
    ],
  );
  const { stdout: configured } = await world.run(["config", "show"]);
  assert.match(configured, /args = \["docs","--token=do-\*\*\*-me"\]/);
  assert.equal(inWorkspace.servers[1]?.place.includes("abcdefghijkl"), false);
  assert.match(
    (await world.run(["mcp", "list"])).stdout,
    /^files {2}no-such-command docs --token=do-\*\*\*-me {2}on {2}global {2}.*config\.toml\n$/,
  );
});

test("[P5] mcp test starts the servers, shows their tools, and fails if one does not start", async (context) => {
  const world = await cliWorld(context);
  const config = join(world.dataDir, "config.toml");
  assert.deepEqual((await world.run(["mcp", "test"])).exit, 0);
  const missing =
    '[mcp_servers.missing]\ncommand = "no-such-command-anywhere"\n[mcp_servers.keyed]\ncommand = "x"\nenv.A = "${NO_SUCH}"\n';
  writeFileSync(config, stdio("files", "obeys") + missing);
  const all = await world.run(["mcp", "test"]);
  assert.equal(all.exit, 1);
  assert.match(all.stdout, /^ok files +hostile obeys 1, MCP 2025-06-18, 2 tools, .*\n {3}ask\n {3}change\n/);
  assert.match(all.stdout, /\n!! missing +cannot be started: there is no such command or folder\n/);
  assert.match(all.stdout, /\n!! keyed +is left out: NO_SUCH is not set in the environment\n$/);
  const one = await world.run(["mcp", "test", "files", "--json"]);
  assert.equal(one.exit, 0);
  const { servers } = JSON.parse(one.stdout) as {
    servers: { name: string; tools: string[]; failure: string | null }[];
  };
  assert.deepEqual(
    servers.map(({ name, tools, failure }) => ({ name, tools, failure })),
    [{ name: "files", tools: ["ask", "change"], failure: null }],
  );
  const none = await world.run(["mcp", "test", "unknown"]);
  assert.deepEqual([none.exit, none.stdout], [1, ""]);
  assert.match(none.stderr, /there is no MCP server "unknown"/);
});

test("[P5] mcp test of a workspace leaves its servers' logs there, and Ctrl-C ends it", async (context) => {
  const world = await cliWorld(context);
  const id = (await world.run(["workspace", "create"])).stdout.trim();
  writeFileSync(join(world.dataDir, "workspaces", id, "config.toml"), stdio("never", "never-starts"));
  const call = world.start(["mcp", "test", "--workspace", id]);

  const log = join(world.dataDir, "workspaces", id, "mcp", "never.log");
  await until(() => existsSync(log));
  call.signals.emit("SIGINT");
  const { exit } = await call.finished;
  assert.equal(exit, 130);
  assert.match(readFileSync(log, "utf8"), /Z starting /);
});
