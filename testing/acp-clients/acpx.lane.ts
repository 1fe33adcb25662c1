/** `acpx`, the public command-line client of ACP, drives the agent as its users do (P1, P4, W3). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { FakeReply } from "../fake-openai/replies.ts";
import { schemaFaults } from "../acp/schema-check.ts";
import { startAgent, type Agent } from "./agent.ts";

const acpxMain = fileURLToPath(new URL("node_modules/acpx/dist/cli.js", import.meta.url));

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** One call of acpx in the project's folder. */
async function acpx(agent: Agent, ...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [acpxMain, "--agent", agent.command, "--cwd", agent.project, ...args], {
    cwd: agent.project,
    env: agent.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once("close", resolve)),
  ]);
  return { code, stdout, stderr };
}

async function fine(agent: Agent, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await acpx(agent, ...args);
  assert.equal(code, 0, `acpx ${args.join(" ")}\n${stdout}\n${stderr}`);
  return stdout;
}

const calls = (name: string, args: Record<string, unknown>): FakeReply => ({
  output: [{ type: "function_call", name, arguments: JSON.stringify(args) }],
});

async function started(context: TestContext): Promise<Agent> {
  const agent = await startAgent(context);
  // acpx keeps the agent running behind a process of its own.
  agent.beforeEnd(() => acpx(agent, "sessions", "close"));
  return agent;
}

test(
  "[P1] acpx: one prompt, and every message of the whole exchange is valid against the official schema",
  { timeout: 60_000 },
  async (t) => {
    const agent = await started(t);
    agent.model.next(calls("list", {}), "There is nothing in it.");
    const stdout = await fine(agent, "--approve-all", "--format", "json", "--json-strict", "exec", "what is here?");
    const messages = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    assert.ok(messages.length > 8, `${messages.length} messages`);
    assert.deepEqual(schemaFaults(messages), []);
    const chunks = [...stdout.matchAll(/"agent_message_chunk","content":\{"type":"text","text":"([^"]*)"/g)];
    assert.equal(chunks.map(([, part]) => part).join(""), "There is nothing in it.");
  },
);

test("[P4] acpx: a tool runs if it is allowed, and does not run if it is denied", { timeout: 60_000 }, async (t) => {
  const agent = await started(t);
  const path = join(agent.project, "made.txt");
  agent.model.next(calls("write", { path: "made.txt", content: "by hand\n" }), "Written.");
  const denied = await acpx(agent, "--deny-all", "exec", "write it");
  assert.equal(denied.code, 5, denied.stdout + denied.stderr);
  assert.equal(existsSync(path), false);
  agent.model.next(calls("write", { path: "made.txt", content: "by hand\n" }), "Written.");
  assert.match(await fine(agent, "--approve-all", "exec", "write it"), /Written\./);
  assert.equal(readFileSync(path, "utf8"), "by hand\n");
});

test(
  "[P4] acpx: files and commands go through the client where it offers them, and never where not",
  { timeout: 60_000 },
  async (t) => {
    const agent = await started(t);
    for (const refused of [[], ["--no-fs", "--no-terminal"]]) {
      agent.model.next(
        calls("write", { path: `n${refused.length}.txt`, content: "one\n" }),
        calls("run", { command: `cat n${refused.length}.txt` }),
        "Done.",
      );
      const stdout = await fine(
        agent,
        ...refused,
        "--approve-all",
        "--format",
        "json",
        "--json-strict",
        "exec",
        "do both",
      );
      assert.equal(/"fs\/write_text_file"/.test(stdout), refused.length === 0);
      assert.equal(/"terminal\/create"/.test(stdout), refused.length === 0);
      assert.equal(readFileSync(join(agent.project, `n${refused.length}.txt`), "utf8"), "one\n");
      assert.match(JSON.stringify(agent.model.requests.at(-1)?.assembled), /one/);
      assert.deepEqual(
        schemaFaults(
          stdout
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line) as unknown),
        ),
        [],
      );
    }
  },
);

test(
  "[P1] [P4] acpx: a session is made, prompted, set, listed, cancelled and closed",
  { timeout: 60_000 },
  async (t) => {
    const agent = await started(t);
    await fine(agent, "sessions", "new");
    agent.model.next("The first answer.");
    assert.match(await fine(agent, "--approve-all", "one"), /The first answer\./);
    await fine(agent, "set-mode", "ask");
    agent.model.next(calls("write", { path: "no.txt", content: "x" }), "I may not.");
    assert.match(await fine(agent, "--approve-all", "two"), /I may not\./);
    assert.equal(existsSync(join(agent.project, "no.txt")), false);
    await fine(agent, "set", "model", "gpt-5.1");
    agent.model.next("From the other model.");
    await fine(agent, "--approve-all", "three");
    assert.equal(agent.model.requests.at(-1)?.body?.model, "gpt-5.1");
    assert.match(await fine(agent, "sessions", "list"), /one/);

    const answering = Promise.withResolvers<void>();
    agent.model.next({
      output: [{ type: "message", text: "slow ".repeat(50) }],
      hold: { afterEvents: 6, until: answering.promise },
    });
    const slow = acpx(agent, "--approve-all", "four");
    await agent.model.request(agent.model.requests.length + 1);
    await fine(agent, "cancel");
    const cancelled = await slow;
    answering.resolve();
    assert.equal(cancelled.code, 0, cancelled.stdout + cancelled.stderr);
    assert.match(cancelled.stdout, /cancelled/);
    await fine(agent, "sessions", "close");
  },
);

test(
  "[W3] [P4] acpx: after kill -9 the next prompt goes on in the same session, with the whole history",
  { timeout: 60_000 },
  async (t) => {
    const agent = await started(t);
    await fine(agent, "sessions", "new");
    agent.model.next("The word is heron.");
    await fine(agent, "--approve-all", "remember a word");
    agent.kill();
    agent.model.next("It was heron.");
    assert.match(await fine(agent, "--approve-all", "which word was it?"), /It was heron\./);
    assert.match(JSON.stringify(agent.model.requests.at(-1)?.assembled), /The word is heron/);
  },
);
