/** `aptove acp` as an editor starts it: a process, its pipes, and what is left when it dies (P1, P4). */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { startAgentProcess } from "../../../testing/acp/agent-process.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";

async function folders(t: TestContext): Promise<{ dataDir: string; project: string }> {
  const folder = await temporaryFolder(t);
  const [dataDir, project] = [join(folder, "data"), join(folder, "project")];
  mkdirSync(project);
  return { dataDir, project };
}

const said = (heard: readonly Record<string, unknown>[]): string =>
  heard
    .map(({ params }) => (params as { update?: { sessionUpdate: string; content?: { text?: string } } }).update)
    .map((update) => (update?.sessionUpdate.endsWith("message_chunk") === true ? (update.content?.text ?? "") : ""))
    .join("");

test("[P1] [P4] after kill -9 in the middle of an answer the session is loaded and resumed by another process", async (t) => {
  const { dataDir, project } = await folders(t);
  // Slow enough to die in the middle.
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, "config.toml"), "[providers.offline]\ndelay_ms = 3\n");
  const first = startAgentProcess(t, { dataDir });
  await first.ask("initialize", { protocolVersion: 1 });
  const { sessionId } = await first.ask("session/new", { cwd: project, mcpServers: [] });
  const prompt = (text: string) => ({ sessionId, prompt: [{ type: "text", text }] });
  await first.ask("session/prompt", prompt("remember heron"));
  const dying = first.ask("session/prompt", prompt("and this is never answered")).catch(() => "died");
  const before = first.heard.length;
  await first.until(
    (message) => first.heard.length > before && JSON.stringify(message).includes("agent_message_chunk"),
  );
  first.kill();
  assert.equal((await first.ended).signal, "SIGKILL");

  const second = startAgentProcess(t, { dataDir });
  await second.ask("initialize", { protocolVersion: 1 });
  await second.ask("session/load", { sessionId, cwd: project, mcpServers: [] });
  assert.match(said(second.heard), /remember heron/);
  assert.doesNotMatch(said(second.heard), /never answered/);
  assert.equal((await second.ask("session/prompt", prompt("again"))).stopReason, "end_turn");
  second.endInput();
  assert.deepEqual((await second.ended).code, 0);

  const third = startAgentProcess(t, { dataDir });
  await third.ask("initialize", { protocolVersion: 1 });
  await third.ask("session/resume", { sessionId, cwd: project });
  assert.equal(said(third.heard), "");
  assert.deepEqual([...first.faults, ...second.faults, ...third.faults], []);
  void dying;
});

test("[P1] a configuration that is wrong is told to the client, at its first request that needs one", async (t) => {
  const { dataDir, project } = await folders(t);
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(join(dataDir, "config.toml"), 'provder = "openai"\n');
  const agent = startAgentProcess(t, { dataDir });
  assert.equal((await agent.ask("initialize", { protocolVersion: 1 })).protocolVersion, 1);
  const error = await agent.ask("session/new", { cwd: project, mcpServers: [] }).then(
    () => assert.fail("it was not refused"),
    (refusal: { message: string; data: { code: string } }) => refusal,
  );
  assert.equal(error.data.code, "config_invalid");
  assert.match(error.message, /did you mean "provider"/);
  agent.endInput();
  const { code, stderr } = await agent.ended;
  assert.equal(code, 0);
  assert.match(stderr, /provder/);
});

test("[P1] a workspace that is not there is told, and a mode that is asked for is that of new sessions", async (t) => {
  const { dataDir, project } = await folders(t);
  const missing = startAgentProcess(t, { dataDir, args: ["--workspace", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"] });
  await missing.ask("initialize", { protocolVersion: 1 });
  await assert.rejects(missing.ask("session/new", { cwd: project, mcpServers: [] }), {
    message: /there is no workspace/,
  });
  missing.endInput();
  const asking = startAgentProcess(t, { dataDir, args: ["--mode", "ask"] });
  await asking.ask("initialize", { protocolVersion: 1 });
  const { modes } = await asking.ask("session/new", { cwd: project, mcpServers: [] });
  assert.equal((modes as { currentModeId: string }).currentModeId, "ask");
  asking.endInput();
  await Promise.all([missing.ended, asking.ended]);
});
