/** A provider without its key: named where a session begins, and set in a terminal (P1). */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { acpTest } from "../../../testing/acp/acp-test.ts";
import { requestErrorOf } from "../../../testing/acp/request-error.ts";
import { cliWorld } from "../../../testing/cli.ts";
import { program } from "../../../testing/program.ts";
import type { InitializeResponse } from "@agentclientprotocol/sdk";

const lacking = { aptove: { overrides: { provider: "anthropic" } } };

test("[P1] a missing key is named at session/new, with its variable", async (t) => {
  const { connect } = await acpTest(t, lacking);
  const connection = await connect();
  const error = await requestErrorOf(connection.begin());
  assert.equal(error.code, -32000);
  assert.match(error.message, /anthropic has no key; set ANTHROPIC_API_KEY/);
  assert.deepEqual(error.data, {
    code: "provider_unauthenticated",
    provider: "anthropic",
    variable: "ANTHROPIC_API_KEY",
  });
  const again = await requestErrorOf(connection.agent.request("authenticate", { methodId: "provider-key" }));
  assert.equal(again.code, -32000);
  const unknown = await requestErrorOf(connection.agent.request("authenticate", { methodId: "login" }));
  assert.equal(unknown.code, -32602);
});

test("[P1] the method for a terminal is offered only to a client that has terminals for it", async (t) => {
  const { connect } = await acpTest(t);
  const keys = { loginArgs: ["--login"], reopen: async () => {}, forget: () => {} };
  const methodsFor = async (clientCapabilities: object): Promise<InitializeResponse> => {
    const { agent } = await connect({ initializes: false, ports: { keys } });
    return await agent.request("initialize", { protocolVersion: 1, clientCapabilities });
  };
  const [plain, terminal] = [await methodsFor({}), await methodsFor({ auth: { terminal: true } })];
  assert.deepEqual(
    plain.authMethods?.map(({ id }) => id),
    ["provider-key"],
  );
  const [, login] = terminal.authMethods ?? [];
  assert.ok(login !== undefined && "type" in login && login.type === "terminal");
  assert.deepEqual(login.args, ["--login"]);
  assert.deepEqual(plain.agentCapabilities?.auth, { logout: {} });
  const { agent } = await connect({ initializes: false });
  const remote = await agent.request("initialize", { protocolVersion: 1 });
  assert.equal(remote.agentCapabilities?.auth, undefined);
});

test("[P1] [B6] a key that a person enters meanwhile is used by the next session; logout removes it", async (t) => {
  const world = await program(t);
  const config = join(world.dataDir, "config.toml");
  writeFileSync(
    config,
    'provider = "mock"\n[providers.compatible.mock]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_env = "MOCK_KEY"\n',
  );
  const editor = await world.acp();
  assert.match((await requestErrorOf(editor.begin())).message, /mock has no key; set MOCK_KEY/);
  const entered = await world.run(["acp", "--login"], "sk-mock\n");
  assert.equal(entered.exit, 0, entered.stderr);
  assert.doesNotMatch(entered.stdout + entered.stderr, /sk-mock/);
  await editor.agent.request("authenticate", { methodId: "provider-key" });
  const { sessionId } = await editor.begin();
  await editor.agent.request("session/close", { sessionId });
  await editor.agent.request("logout", {});
  assert.doesNotMatch(readFileSync(config, "utf8"), /sk-mock/);
  assert.equal((await requestErrorOf(editor.begin())).code, -32000);
  assert.match(
    (await requestErrorOf(editor.agent.request("authenticate", { methodId: "provider-key" }))).message,
    /MOCK_KEY/,
  );
  assert.deepEqual(editor.faults, []);
  assert.equal(await editor.leave(), 0);
});

test("[P1] [L1] a key is typed without being shown, and a turn without one names the variable", async (t) => {
  const world = await cliWorld(t);
  const refused = await world.run(["ask", "hello", "--model", "x"], { env: { APTOVE_PROVIDER: "anthropic" } });
  assert.match(refused.stderr, /names the provider "anthropic", which has no key: set ANTHROPIC_API_KEY/);
  const typing = world.start(["login", "anthropic"], { isTerminal: true });
  await typing.saw("Key of anthropic: ");
  typing.input.write("sk-typed\r");
  const { exit, stdout, stderr } = await typing.finished;
  assert.deepEqual([exit, /sk-typed/.test(stdout + stderr)], [0, false]);
  assert.match(readFileSync(join(world.dataDir, "config.toml"), "utf8"), /api_key = "sk-typed"/);
  assert.match((await world.run(["logout"])).stdout, /removed the stored key of anthropic/);
  assert.equal((await world.run(["login", "unknown"], { stdin: "k" })).exit, 2);
});

test("[L1] Ctrl-C at a question of login is an interruption, and stores nothing", async (t) => {
  const world = await cliWorld(t);
  for (const [args, question] of [
    [["login"], "Provider ("],
    [["login", "anthropic"], "Key of anthropic: "],
  ] as const) {
    const typing = world.start([...args], { isTerminal: true });
    await typing.saw(question);
    typing.input.write("\x03");
    const { exit, stderr } = await typing.finished;
    assert.deepEqual([exit, /error/.test(stderr)], [130, false], stderr);
  }
  assert.match((await world.run(["logout"])).stdout, /there is no stored key/);
});
