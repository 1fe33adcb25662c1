/** Bad input for `aptove acp` from an editor, from a person with a text editor and from a crash, with real processes. */
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { NewSessionRequest } from "@agentclientprotocol/sdk";
import { requestErrorOf } from "./acp/request-error.ts";
import { program, type AcpOptions, type AcpProcess, type Program } from "./program.ts";

const phone: Partial<NewSessionRequest> = { _meta: { "aptove.dev/deviceId": "phone" } };

test("[P1] bad input to the agent affects only itself, and the output contains nothing but answers", async (t) => {
  const world = await program(t);
  const ask = (id: number | string, method: string, params: object): string =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const session = { cwd: world.project, mcpServers: [] };
  const lines: [line: string | Uint8Array, answer: { id: unknown; code: number | null } | null][] = [
    [ask(1, "session/new", session), { id: 1, code: -32600 }],
    ["no JSON at all", { id: null, code: -32700 }],
    [Uint8Array.of(0xff, 0x00, 0xfe), { id: null, code: -32700 }],
    [`[${ask(2, "initialize", { protocolVersion: 1 })}]`, { id: null, code: -32600 }],
    ["42", { id: null, code: -32600 }],
    ["", null],
    [ask(3, "initialize", { protocolVersion: 1 }), { id: 3, code: null }],
    [ask("big", "session/prompt", { sessionId: "x".repeat(40 << 20), prompt: [] }), { id: "big", code: -32600 }],
    [ask(4, "session/new", { ...session, cwd: "project" }), { id: 4, code: -32602 }],
    [ask(5, "session/load", { ...session, sessionId: "../../etc" }), { id: 5, code: -32002 }],
    [ask(6, "session/prompt", { sessionId: "unknown", prompt: [] }), { id: 6, code: -32002 }],
    [ask(7, "session/new", session), { id: 7, code: null }],
  ];
  const input = lines.flatMap(([line]) => [Buffer.from(line), Buffer.from("\n")]);
  const { exit, stdout, stderr } = await world.run(["acp"], Buffer.concat(input));
  const answered = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id?: unknown; error?: { code: number } })
    .flatMap(({ id, error }) => (id === undefined ? [] : [JSON.stringify({ id, code: error?.code ?? null })]));
  const expected = lines.flatMap(([, answer]) => (answer === null ? [] : [JSON.stringify(answer)]));
  // Requests that need the stores take longer.
  assert.deepEqual(answered.toSorted(), expected.toSorted());
  assert.deepEqual([exit, stderr], [0, ""]);
});

for (const [who, dies] of [
  ["an editor that closes its end", (agent: AcpProcess) => agent.leave()],
  ["an editor that is killed", (agent: AcpProcess) => agent.vanish()],
  ["an agent that is killed", (agent: AcpProcess) => agent.kill()],
] as const) {
  test(`[P4] [T8] [T11] ${who} in the middle of a permission question: nothing is written, and the session continues complete`, async (t) => {
    const world = await program(t);
    // The question stays open until the agent's time to finish is over.
    appendFileSync(join(world.dataDir, "config.toml"), "\n[limits]\nshutdown_grace_ms = 500\n", { mode: 0o600 });
    const asked = Promise.withResolvers<void>();
    const agent = await world.acp({ onPermission: () => (asked.resolve(), new Promise(() => {})) });
    const { sessionId } = await agent.begin();
    await agent.prompt(sessionId, "first");
    const call = { type: "function_call", name: "write", arguments: '{"path":"a.txt","content":"a"}' } as const;
    world.model.next({ output: [call] }, "So be it.");
    const prompt = agent.prompt(sessionId, "write it").catch(() => "gone");
    await asked.promise;
    await dies(agent);
    await prompt;
    assert.equal(existsSync(join(world.project, "a.txt")), false);

    const next = await world.acp();
    await next.load(sessionId);
    const shown = next.updates(sessionId).flatMap((update) => ("status" in update ? [update.status] : []));
    assert.equal(shown.at(-1) ?? "failed", "failed", "the call is shown as one that has not run");
    world.model.next("Here I am.");
    await next.prompt(sessionId, "are you there?");
    const { assembled, refusal } = world.model.requests.at(-1) ?? assert.fail();
    assert.equal(refusal, null, "the provider takes no call without its result");
    assert.match(JSON.stringify(assembled), /first.*are you there\?/);
    assert.equal(await next.leave(), 0);
    const verified = await world.run(["session", "verify", sessionId]);
    assert.equal(verified.exit, 0, verified.stdout);
    assert.deepEqual([...agent.faults, ...next.faults], []);
  });
}

test("[W5] [W4] a session.md that is binary, torn or 100 MB is set aside and the session begins without it; half a conversation is used", async (t) => {
  const world = await program(t);
  const agent = await world.acp();
  const { sessionId, _meta } = await agent.begin(phone);
  await agent.prompt(sessionId, "remember heron");
  const folder = join(world.dataDir, "workspaces", String(_meta?.["aptove.dev/workspaceId"]));
  const file = join(folder, "session.md");
  const unreadable: [bytes: string | Uint8Array, reason: RegExp][] = [
    [Uint8Array.of(0xff, 0xfe, 0, 1, 2), /it is not UTF-8 text/],
    ["---\nprovider: op", /its front matter, from line 1, has no end/],
    ["## User\n\n", /it has 104857600 bytes, and at most 67108864 are read/],
  ];
  for (const [bytes, reason] of unreadable) {
    // The next session begins after the transcript of the last turn was written.
    await agent.begin(phone);
    const aside = asideIn(folder).length;
    writeFileSync(file, bytes);
    if (reason.source.includes("104857600")) truncateSync(file, 104_857_600);
    assert.deepEqual(await historyOfNext(world, agent), ["which word?"]);
    assert.match(agent.stderr(), reason);
    assert.equal(asideIn(folder).length, aside + 1);
  }
  await agent.begin(phone);
  writeFileSync(file, "## User\n\nremember heron\n\n## Assis");
  assert.deepEqual(await historyOfNext(world, agent), ["remember heron\n\n## Assis", "which word?"]);
  assert.equal(await agent.leave(), 0);
  assert.deepEqual(agent.faults, []);
});

const asideIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith(".unreadable.md"));

/** Returns all user messages that the model sees when the phone begins its next session. */
async function historyOfNext({ model }: Program, agent: AcpProcess): Promise<string[]> {
  const { sessionId } = await agent.begin(phone);
  await agent.prompt(sessionId, "which word?");
  const { assembled } = model.requests.at(-1) ?? assert.fail();
  return (assembled ?? []).flatMap((item) => {
    if (!("role" in item && "content" in item) || item.role !== "user" || !Array.isArray(item.content)) return [];
    const texts = item.content.map((part) => ("text" in part ? part.text : ""));
    return texts
      .filter((text) => !text.startsWith("[PLACE]\n"))
      .map((text) => text.split("[INSTRUCTION]\n")[1] ?? text);
  });
}

test("[W2] [W1] damaged bindings, and one that leads out, give devices, and only them, a clear error until they are fixed", async (t) => {
  const world = await program(t);
  const file = join(world.dataDir, "bindings.toml");
  const agent = await world.acp();
  for (const damage of ["[bindings\nphone", '[bindings]\nphone = ".."\n', "\u0000\u0001"]) {
    writeFileSync(file, damage, { mode: 0o600 });
    const { message, data } = await requestErrorOf(agent.begin(phone));
    assert.match(message, /bindings\.toml.*correct the file, or move it to another folder/);
    assert.equal((data as { code: string }).code, "bindings_damaged");
    assert.equal((await agent.begin())._meta?.["aptove.dev/workspaceId"], "default");
    assert.equal(readFileSync(file, "utf8"), damage);
    rmSync(file);
    assert.match(String((await agent.begin(phone))._meta?.["aptove.dev/workspaceId"]), /^[0-9a-f-]{36}$/);
  }
  assert.equal(await agent.leave(), 0);
});

test("[W7] [P1] the editor gets an error with the fix for a key of an unknown provider, and after the fix the agent works", async (t) => {
  const world = await program(t);
  const file = join(world.dataDir, "config.toml");
  writeFileSync(file, '[providers.opnai]\napi_key = "sk-of-no-user"\n', { mode: 0o600 });
  const agent = await world.acp();
  const { message, data } = await requestErrorOf(agent.begin());
  assert.match(message, /config\.toml: providers\.opnai is not known; did you mean "providers\.openai"\?/);
  assert.equal((data as { code: string }).code, "config_invalid");
  rmSync(file);
  const { sessionId } = await agent.begin();
  assert.equal((await agent.prompt(sessionId, "hello")).stopReason, "end_turn");
  assert.equal(await agent.leave(), 0);
  assert.deepEqual(agent.faults, []);
  assert.doesNotMatch(agent.stderr(), /sk-of-no-user/);
});

test("[W1] [P1] aptove acp refuses a workspace that does not exist, and creates nothing for it", async (t) => {
  const world = await program(t);
  const agent = await world.acp({ args: ["--workspace", ".."] } satisfies AcpOptions);
  const { message, data } = await requestErrorOf(agent.begin());
  assert.match(message, /"\.\." is neither "default" nor a UUID/);
  assert.equal((data as { code: string }).code, "workspace_invalid");
  assert.equal(await agent.leave(), 0);
  assert.equal(existsSync(join(world.dataDir, "workspaces")), false);
});
