/** Two older versions of ACP's own client, and the AI SDK through its ACP provider, can do all that they support (P1). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { test, type TestContext } from "node:test";
import { createACPProvider } from "@mcpc-tech/acp-ai-provider";
import * as oldest from "@zed-industries/agent-client-protocol";
import * as first from "acp-sdk-1";
import { generateText } from "ai";
import { startAgent, type Agent } from "./agent.ts";

type Update = { sessionUpdate: string; content?: unknown };

interface Connected {
  connection: first.ClientSideConnection;
  updates: Update[];
  /** The person's answer to a permission request. */
  allows: boolean;
  asked: number;
}

/** Both versions have the same shape. The types of the newer one cover all that is used here. */
const generations = [
  { name: "0.4.5", sdk: oldest as unknown as typeof first },
  { name: "1.9.0", sdk: first },
];

function connect(context: TestContext, agent: Agent, sdk: typeof first): Connected {
  const child = spawn(agent.command, [], { env: agent.env, stdio: ["pipe", "pipe", "inherit"] });
  context.after(() => child.kill("SIGKILL"));
  const stream = sdk.ndJsonStream(
    Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const connected: Omit<Connected, "connection"> = { updates: [], allows: true, asked: 0 };
  const client: first.Client = {
    sessionUpdate: async ({ update }) => void connected.updates.push(update),
    requestPermission: async ({ options }) => {
      connected.asked += 1;
      const kind = connected.allows ? "allow_once" : "reject_once";
      const option = options.find((one) => one.kind === kind) ?? assert.fail(`there is no ${kind}`);
      return { outcome: { outcome: "selected", optionId: option.optionId } };
    },
  };
  return Object.assign(connected, { connection: new sdk.ClientSideConnection(() => client, stream) });
}

const kinds = (updates: readonly Update[]): string[] => updates.map(({ sessionUpdate }) => sessionUpdate);

for (const { name, sdk } of generations) {
  test(`[P1] [P4] the client of ${name}: initialize, prompt, permission, cancel, load`, async (t) => {
    const agent = await startAgent(t);
    const client = connect(t, agent, sdk);
    const { connection } = client;
    const hello = await connection.initialize({ protocolVersion: 1, clientCapabilities: {} });
    assert.equal(hello.protocolVersion, 1);
    const { sessionId } = await connection.newSession({ cwd: agent.project, mcpServers: [] });

    const call = { type: "function_call", name: "write", arguments: '{"path":"a.txt","content":"x\\n"}' } as const;
    client.allows = false;
    agent.model.next({ output: [call] }, "So be it.");
    const ask = (text: string) => connection.prompt({ sessionId, prompt: [{ type: "text", text }] });
    assert.equal((await ask("write")).stopReason, "end_turn");
    assert.equal(existsSync(join(agent.project, "a.txt")), false);
    client.allows = true;
    agent.model.next({ output: [call] }, "Written.");
    assert.equal((await ask("write again")).stopReason, "end_turn");
    assert.equal(readFileSync(join(agent.project, "a.txt"), "utf8"), "x\n");
    assert.equal(client.asked, 2);

    const never = Promise.withResolvers<void>();
    t.after(() => never.resolve());
    agent.model.next({ output: [{ type: "message", text: "slow" }], hold: { afterEvents: 6, until: never.promise } });
    const before = agent.model.requests.length;
    const slow = ask("wait");
    await agent.model.request(before + 1);
    await connection.cancel({ sessionId });
    assert.equal((await slow).stopReason, "cancelled");

    const again = connect(t, agent, sdk);
    await again.connection.initialize({ protocolVersion: 1, clientCapabilities: {} });
    await again.connection.loadSession({ sessionId, cwd: agent.project, mcpServers: [] });
    const replayed = kinds(again.updates);
    for (const kind of ["user_message_chunk", "agent_message_chunk", "tool_call"]) assert.ok(replayed.includes(kind));
  });
}

test("[P1] the AI SDK speaks with the agent through its provider for ACP", async (t) => {
  const agent = await startAgent(t);
  const provider = createACPProvider({
    command: agent.command,
    args: [],
    env: agent.env,
    session: { cwd: agent.project, mcpServers: [] },
    persistSession: true,
  });
  agent.beforeEnd(async () => provider.cleanup());
  agent.model.next("Good day.");
  const { text } = await generateText({ model: provider.languageModel(), prompt: "say good day" });
  assert.equal(text, "Good day.");
});
