/** `config show` and `config check` with workspaces, and what the doctor says of them (W7). */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliRun, type CliWorld } from "../../../../testing/cli.ts";
import { dataFolderAt } from "../../../configuration/data-folder.ts";
import { fileWorkspaces } from "../../../workspace/files/file-workspaces.ts";

const first = "11111111-1111-4111-8111-111111111111";
const second = "22222222-2222-4222-8222-222222222222";

interface WorkspacesWorld extends CliWorld {
  /** The path of a workspace's own configuration. */
  configOf(id: string): string;
}

/** Two workspaces; the first is called by a name and by a provider. */
async function workspacesWorld(t: TestContext): Promise<WorkspacesWorld> {
  const world = await cliWorld(t);
  const store = fileWorkspaces(dataFolderAt(world.dataDir));
  await store.create({ id: first, name: "client a", provider: "anthropic", at: 1 });
  await store.create({ id: second, at: 2 });
  return { ...world, configOf: (id) => join(world.dataDir, "workspaces", id, "config.toml") };
}

test("[L1] [W7] [E8] config show --workspace prints each value with its layer and its source", async (t) => {
  const world = await workspacesWorld(t);
  const file = world.configOf(first);
  writeFileSync(file, 'providers.openai.api_key = "sk-of-the-workspace"\nproviders.anthropic.model = "mine"\n');
  writeFileSync(join(world.dataDir, "config.toml"), 'providers.google.model = "theirs"\n', { mode: 0o600 });
  const env = { ANTHROPIC_API_KEY: "sk-of-the-environment" };
  const shown = await world.run(["config", "show", "--workspace", first], { env });
  assert.equal(shown.exit, 0, shown.stderr);
  for (const [key, value, where] of [
    ["provider", "anthropic", `workspace +workspace.toml of ${first}`],
    ["agent_contexts.default.provider", "anthropic", `workspace +workspace.toml of ${first}`],
    ["providers.anthropic.model", "mine", `workspace +${file}`],
    ["providers.openai.api_key", String.raw`sk-\*\*\*ace`, `workspace +${file}`],
    ["providers.google.model", "theirs", `global +${join(world.dataDir, "config.toml")}`],
    ["providers.anthropic.api_key", String.raw`sk-\*\*\*ent`, "environment +ANTHROPIC_API_KEY"],
  ]) {
    assert.match(shown.stdout, new RegExp(`^${key} = "${value}" +${where}$`, "m"));
  }
  const without = await world.run(["config", "show"], { env });
  assert.match(without.stdout, /^providers.anthropic.model = "claude-sonnet-5" +built-in$/m);
  const json = await world.run(["config", "show", "--workspace", first, "--json"], { env });
  const { workspace, values } = JSON.parse(json.stdout) as { workspace: string; values: Record<string, string>[] };
  assert.equal(workspace, first);
  assert.deepEqual(
    values.find(({ key }) => key === "providers.anthropic.model"),
    { key: "providers.anthropic.model", value: '"mine"', layer: "workspace", source: file },
  );
  assert.ok(!(shown.stdout + json.stdout).includes("of-the"));
});

test("[L1] [W7] config show and check refuse what is no workspace, and one that there is not", async (t) => {
  const world = await workspacesWorld(t);
  for (const command of ["show", "check"]) {
    const missing = await world.run(["config", command, "--workspace", first.replace("1", "3")]);
    assert.equal(missing.exit, 1);
    assert.match(missing.stderr, /there is no workspace ".*" \(workspace_unknown\)/);
    const wrong = await world.run(["config", command, "--workspace", ".."]);
    assert.equal(wrong.exit, 1);
    assert.match(wrong.stderr, /there is no workspace "\.\." \(workspace_unknown\)/);
    const short = await world.run(["config", command, "--workspace", first.slice(0, 8)]);
    assert.equal(short.exit, command === "show" ? 0 : 1, short.stderr);
  }
});

test("[L1] [W7] config check checks every workspace, and reports a fault with its workspace", async (t) => {
  const world = await workspacesWorld(t);
  const env = { ANTHROPIC_API_KEY: "a" };
  const built = await world.run(["config", "check"], { env });
  assert.match(built.stdout, /the environment apply; 2 workspaces checked, no fault; anthropic answers$/m);
  writeFileSync(join(world.dataDir, "config.toml"), "", { mode: 0o600 });
  const fine = await world.run(["config", "check"], { env });
  assert.equal(fine.exit, 0, fine.stderr);
  assert.match(fine.stdout, /config.toml and 2 workspaces checked, no fault; anthropic answers$/m);

  // A key that is missing for both is no news about a workspace; the first one's own provider is.
  writeFileSync(join(world.dataDir, "config.toml"), 'provider = "openai"\n', { mode: 0o600 });
  writeFileSync(world.configOf(second), '[serve]\nport = 1\n[provders]\n[mcp_servers.a]\ncommand = "${NOWHERE}"\n');
  const wrong = await world.run(["config", "check"]);
  assert.equal(wrong.exit, 1);
  const [global, ofFirst, ofSecond, ...rest] = wrong.stderr.trimEnd().split("\n");
  assert.match(global ?? "", /^problem: the agent context "default" uses openai, which has no key: set OPEN/);
  assert.match(
    ofFirst ?? "",
    new RegExp(`^problem: workspace ${first} \\(client a\\): the agent .* uses anthropic, which`),
  );
  assert.ok(
    ofSecond?.startsWith(`problem: workspace ${second}: ${world.configOf(second)}: serve is`),
    String(ofSecond),
  );
  assert.deepEqual(rest, []);
  assert.match(wrong.stderr, /serve is the same for every workspace; set it in \S+\/data\/config.toml; /);
  assert.match(wrong.stderr, /provders is not known; did you mean "providers"\?/);
  const one = await world.run(["config", "check", "--workspace", first], { env });
  assert.equal(one.exit, 0);
  assert.equal(one.stdout, `workspace ${first} checked, no fault; anthropic answers\n`);
});

test("[L1] [W7] a value of the environment that overrides a workspace gives a warning that names both", async (t) => {
  const world = await workspacesWorld(t);
  writeFileSync(world.configOf(first), 'providers.openai.api_key = "sk-mine"\n', { mode: 0o600 });
  const env = { OPENAI_API_KEY: "sk-theirs", ANTHROPIC_API_KEY: "a" };
  const { exit, stderr } = await world.run(["config", "check", "--workspace", first], { env });
  assert.equal(exit, 0);
  const warning = `${world.configOf(first)}: providers.openai.api_key is not used, because OPENAI_API_KEY is set`;
  assert.equal(stderr, `warning: ${warning} in the environment\n`);
});

test("[L1] [P5] config check names a server of tools that lacks a variable", async (t) => {
  const world = await cliWorld(t);
  writeFileSync(join(world.dataDir, "config.toml"), 'mcp_servers.a = { command = "x", env.T = "${A_TOKEN}" }\n');
  const { exit, stderr } = await world.run(["config", "check"]);
  assert.equal(exit, 1);
  assert.match(stderr, /problem: the MCP server "a" is left out: A_TOKEN is not set in the environment/);
  assert.equal((await world.run(["config", "check"], { env: { A_TOKEN: "t" } })).exit, 0);
});

test("[L1] [W1] [W7] doctor and config check name damaged workspaces", async (t) => {
  const world = await workspacesWorld(t);
  const env = { ANTHROPIC_API_KEY: "a" };
  assert.match((await world.run(["doctor"], { env })).stdout, /^ok workspaces +2$/m);
  writeFileSync(join(world.dataDir, "workspaces", second, "workspace.toml"), "\0");
  writeFileSync(world.configOf(first), Uint8Array.of(0xff, 0xfe));
  const { exit, stdout } = await world.run(["doctor"], { env });
  assert.equal(exit, 1);
  assert.match(
    stdout,
    new RegExp(`^!! workspaces +workspace ${first} \\(client a\\): .* is not UTF-8 text \\(and 1 more\\)`, "m"),
  );
  assert.match(stdout, /fix: see all of them: aptove config check/);
  const checked = await world.run(["config", "check"], { env });
  assert.equal(checked.exit, 1);
  assert.match(checked.stderr, new RegExp(`problem: workspace ${second}: .*workspace.toml`));
});

const clear = /key unencrypted.*must be https/;
const qdrantServers = [
  ["", {}, /index store qdrant has no address: set retrieval\.qdrant\.url, or QDRANT_URL/],
  ['url = "http://q.example.org"', { QDRANT_API_KEY: "secret-key" }, clear],
  ['url = "http://q.example.org"\napi_key_env = "OURS"', { OURS: "secret-key" }, clear],
  ['url = "http://q.example.org"', {}, null],
  ['url = "http://127.0.0.1:6333"', { QDRANT_API_KEY: "secret-key" }, null],
  ['url = "https://q.example.org"', { QDRANT_API_KEY: "secret-key" }, null],
] as const;

test("[E8] [W7] config check reports why a Qdrant server cannot be used, for example a key over plain http", async (t) => {
  const world = await cliWorld(t);
  for (const [words, env, fault] of qdrantServers) {
    const text = `[retrieval]\nstore = "qdrant"\n[retrieval.qdrant]\n${words}\n`;
    writeFileSync(join(world.dataDir, "config.toml"), text, { mode: 0o600 });
    const { exit, stderr, stdout } = await world.run(["config", "check"], { env });
    assert.equal(exit, fault === null ? 0 : 1, `${words}: ${stderr}`);
    if (fault !== null) assert.match(stderr, fault);
    assert.doesNotMatch(stderr + stdout, /secret-key/);
  }
});

test("[W7] [G1] a record is the context of a workspace whose configuration has its name", async (t) => {
  const world = await cliWorld(t);
  assert.equal(
    (await world.run(["context", "set", "conversation", "review", "--boot-prompt", "Name risks first."])).exit,
    0,
  );
  const { id } = JSON.parse((await world.run(["workspace", "create", "--json"])).stdout) as { id: string };
  const file = join(world.dataDir, "workspaces", id, "config.toml");
  const ask = async (text: string): Promise<CliRun> => {
    writeFileSync(file, text, { mode: 0o600 });
    return await world.run(["ask", "hi", "--new", "--workspace", id]);
  };
  const { stderr } = await ask('conversation_context = "review"\n');
  assert.match(stderr, /for a context that is a record, write the line \[conversation_contexts\.review\] too/);
  assert.equal((await ask('conversation_context = "review"\n[conversation_contexts.review]\n')).exit, 0);
  assert.match((await world.run(["session", "show"])).stdout, /conversation Review/);
  assert.match(readFileSync(join(world.dataDir, "workspaces", id, "session.md"), "utf8"), /Name risks first\./);
});
