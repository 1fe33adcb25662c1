import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { createAptove } from "../compose.ts";
import { keyedNames } from "../configuration/configured-providers.ts";

interface World {
  dataDir: string;
  /** The folder of a workspace. */
  own: string;
  /** Calls a tool of a session in that folder, and returns its output. */
  call(folder: string, name: string, args: Record<string, unknown>): Promise<string>;
}

async function world(t: TestContext, files: { all?: string; own?: string } = {}, env = {}): Promise<World> {
  const dataDir = await temporaryFolder(t);
  if (files.all !== undefined) writeFileSync(join(dataDir, "config.toml"), files.all, { mode: 0o600 });
  const aptove = await createAptove({ dataDir, env: { PATH: process.env["PATH"], ...env } });
  t.after(() => aptove.engine.close());
  const { id } = await (await aptove.workspaces()).workspaces.resolve(null);
  const own = join(dataDir, "workspaces", id);
  writeFileSync(join(own, "config.toml"), files.own ?? "", { mode: 0o600 });
  return {
    dataDir,
    own,
    call: async (folder, name, args) => {
      const session = await aptove.openSessionTools({ folders: [folder], workspaceId: id, mcpServers: [] });
      const tool = (await session.tools()).find(({ definition }) => definition.name === name);
      assert.ok(tool);
      const result = await tool.run(args, {
        sessionId: "session",
        turnId: "turn",
        callId: "call",
        signal: new AbortController().signal,
        showOutput: () => undefined,
        readOutput: () => Promise.resolve(null),
      });
      await session.close();
      return result.output;
    },
  };
}

test("[P5] [E8] a session in the folder of a workspace can neither read its keys nor allow itself anything", async (t) => {
  const { own, call } = await world(t, { own: 'providers.openai.api_key = "hidden"\n' });
  mkdirSync(join(own, "mcp"), { recursive: true });
  writeFileSync(join(own, "mcp/files.log"), "hidden\n");
  for (const name of ["config.toml", "permissions.toml", "workspace.toml", "mcp/files.log", "CONFIG.TOML"]) {
    assert.match(await call(own, "read", { path: name }), /not open to this session/, name);
    assert.match(await call(own, "write", { path: name, content: "" }), /not open to this session/, name);
  }
  assert.match(await call(own, "search", { pattern: "hidden" }), /no match/);
  assert.equal(
    await call(own, "write", { path: "memory/note.md", content: "mine\n" }),
    "created memory/note.md (1 line)",
  );
});

test("[P5] [E8] a session inside the data folder, but in no workspace, can do nothing there", async (t) => {
  const { dataDir, own, call } = await world(t);
  for (const name of [".", "workspaces", "live"]) {
    const folder = join(dataDir, name);
    assert.match(await call(folder, "list", {}), /not open to this session/, name);
    assert.match(await call(folder, "write", { path: "x", content: "" }), /not open to this session/, name);
    assert.match(await call(folder, "read", { path: join(own, "config.toml") }), /not open to this session/, name);
    assert.match(await call(folder, "run", { command: "ls" }), /not open to this session/, name);
  }
});

test("[P5] [E8] a command does not see the global key either, if the workspace has its own key", async (t) => {
  const files = {
    all: 'providers.openai = { api_key_env = "EVERYBODYS", api_key = "unused" }\n',
    own: 'providers.openai.api_key_env = "OWN"\n',
  };
  const env = { EVERYBODYS: "hidden-all", COPY: "is hidden-all", OWN: "hidden-own", PLAIN: "there" };
  const { call, dataDir } = await world(t, files, env);
  const folder = join(dataDir, "..");
  const output = await call(folder, "run", { command: "env" });
  assert.match(output, /PLAIN=there/);
  assert.doesNotMatch(output, /hidden/);
});

/** The key of a provider in this test. No key and no name of a variable looks like a secret by itself. */
const sampleKey = (provider: string): string => `hidden-key-of-${provider}`;
const sampleVariable = "WHERE_IT_IS";
const providersOfTest = [...keyedNames, "compatible.mine"];

for (const provider of providersOfTest) {
  test(`[P5] [E8] a command does not receive the configured key of ${provider}, and its output does not show it`, async (t) => {
    const all = `providers.${provider}.api_key = ${JSON.stringify(sampleKey(provider))}\n`;
    const { call, dataDir } = await world(t, { all }, { COPY: `is ${sampleKey(provider)}`, PLAIN: "there" });
    const folder = join(dataDir, "..");
    const variables = await call(folder, "run", { command: "env" });
    assert.match(variables, /PLAIN=there/);
    assert.doesNotMatch(variables, /hidden/);
    assert.doesNotMatch(await call(folder, "run", { command: `printf 'hidden-key-of-%s' ${provider}` }), /hidden/);
  });

  test(`[P5] [E8] a command does not receive the variable that holds the key of ${provider}`, async (t) => {
    const all = `providers.${provider}.api_key_env = "${sampleVariable}"\n`;
    const { call, dataDir } = await world(t, { all }, { [sampleVariable]: sampleKey(provider) });
    assert.doesNotMatch(await call(join(dataDir, ".."), "run", { command: "env" }), /hidden|WHERE_IT_IS/);
  });
}
