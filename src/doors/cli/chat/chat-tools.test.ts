/** The tools that a chat brings: what runs unasked, what is asked for, and what becomes of a call that was stopped. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld, type LiveCli } from "../../../../testing/cli.ts";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import { createClient, type AptoveClient, type WireApprovals, type WireTurn } from "../../../client/client.ts";
import { limits } from "../../../domain/limits.ts";
import { scriptedProvider, type Script } from "../../../providers/scripted/scripted.ts";
import { commandTool } from "../../../tools/command/command-tool.ts";
import type { Tool, ToolContext } from "../../../tools/tool.ts";
import { ToolFault } from "../../../tools/tool-fault.ts";
import { findWorkingCopy } from "../../../working-copy/git.ts";
import { ChatTools } from "./chat-tools.ts";

const reads: Tool = {
  definition: { name: "read", parameters: { type: "object" }, effect: "read" },
  needsApproval: () => false,
  run: async (args) => ({ output: `contents of ${String(args["path"])}`, isError: false }),
};

function writes(written: string[]): Tool {
  return {
    definition: { name: "write", parameters: { type: "object" }, effect: "write" },
    needsApproval: () => true,
    view: (args) => ({
      title: `Write ${String(args["path"])}`,
      kind: "edit",
      locations: [],
      content: [{ type: "diff", path: "/a", oldText: "old\n", newText: "new\n" }],
      permission: { key: "write here", label: "write files here" },
    }),
    run: async (args) => {
      written.push(String(args["path"]));
      return { output: `wrote ${String(args["path"])}`, isError: false };
    },
  };
}

/** Runs until it is stopped, and tells that it was. */
const lasting: Tool = {
  definition: { name: "run", parameters: { type: "object" }, effect: "run" },
  needsApproval: () => false,
  run: async (_args, { signal, showOutput }) => {
    showOutput("line 1\nline 2\n");
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return { output: "ended early", isError: true };
  },
};

/** Follows the instruction: `<tool> <path>` calls the tool; after a result it answers with that result. */
const obedient: Script = (call) => {
  const last = call.items.at(-1);
  if (last?.type === "tool_result") return `result: ${last.output}`;
  const [, tool, path] = /(read|write|run) (\w+)/.exec(JSON.stringify(last)) ?? [];
  return tool === undefined ? "ok" : [{ calls: tool, with: { path } }];
};

interface Chatting extends LiveCli {
  type(line: string): void;
  screen(): Promise<string>;
}

async function world(t: TestContext, sessionTools: Tool[], script: Script = obedient): Promise<CliWorld> {
  const made = await cliWorld(t, { providers: [scriptedProvider({ name: "offline", script })], sessionTools });
  await made.run(["index"]);
  return made;
}

function chatting(on: CliWorld, ...argv: string[]): Chatting {
  const terminal = new TestTerminal({ columns: 80, rows: 40 });
  const chat = on.start(["chat", ...argv], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  return { ...chat, type: (line) => void chat.input.write(`${line}\r`), screen: () => terminal.text() };
}

async function turnsOf(on: CliWorld): Promise<WireTurn[]> {
  const { stdout } = await on.run(["session", "log", "last", "--json"]);
  return (JSON.parse(stdout) as { turns: WireTurn[] }).turns.toReversed();
}

test("[V5] [T9] [L2] what only reads runs unasked, and its result is the next turn", async (t) => {
  const on = await world(t, [reads]);
  const chat = chatting(on);
  chat.type("read a");
  await chat.saw("result: contents of a");
  chat.type("/quit");
  assert.equal((await chat.finished).exit, 0);
  const screen = await chat.screen();
  assert.match(screen, /^✓ read {"path":"a"} · \d+ ms$/m);
  assert.doesNotMatch(screen, /allow\?/);
  const turns = await turnsOf(on);
  assert.deepEqual(
    turns.map(({ status, mode }) => [status, mode]),
    [
      ["awaiting_tool_results", "edit"],
      ["completed", "edit"],
    ],
  );
});

test("[P5] [L2] a call that cannot succeed gets an error, and the person is not asked about it", async (t) => {
  const written: string[] = [];
  const view: Tool["view"] = () => Promise.reject(new ToolFault("out is not open to this session"));
  const on = await world(t, [{ ...writes(written), view }]);
  const chat = chatting(on);
  chat.type("write out");
  await chat.saw("result: failed: out is not open to this session");
  chat.type("/quit");
  await chat.finished;
  assert.deepEqual(written, []);
  assert.doesNotMatch(await chat.screen(), /allow\?/);
});

test("[P4] [V5] [L2] a question shows the whole command, with nothing hidden, and takes commands that show more", async (t) => {
  const folder = await temporaryFolder(t);
  const hidden = "; touch PWNED\u200b\u001b[8m";
  const command = `echo fine${" ".repeat(3_000)}${hidden}${"x".repeat(200)}END\n${"\n".repeat(300)}ls -a`;
  const script: Script = ({ items }) =>
    items.at(-1)?.type === "tool_result" ? "done" : [{ calls: "run", with: { command } }];
  const on = await world(t, [commandTool({ folders: [folder] })], script);
  const chat = chatting(on);
  chat.type("go");
  await chat.saw("allow? [y/a/N]");
  const question = await chat.screen();
  for (const part of ["⟨3000 blanks⟩; touch PWNED\\u200b\\u001b[8m", "END", "⟨300 empty lines⟩", "ls -a"]) {
    assert.ok(question.replaceAll(/\n {2}/g, "").includes(part), `${part} in ${question}`);
  }
  chat.type("/mode edit");
  await chat.saw("works after the answer");
  chat.type("/details");
  await chat.saw("r: no, with a reason", 2);
  chat.type("n");
  await chat.saw("done");
  chat.type("/quit");
  await chat.finished;
  assert.deepEqual(await readdir(folder), []);
});

test("[P4] [L2] a question shows all of a long change", async (t) => {
  const lines = Array.from({ length: 60 }, (_, at) => `line ${at}\n`).join("");
  const long: Tool = {
    ...writes([]),
    view: () => ({
      title: "Write a",
      kind: "edit",
      locations: [],
      content: [{ type: "diff", path: "/a", oldText: null, newText: lines }],
      permission: null,
    }),
  };
  const on = await world(t, [long]);
  const chat = chatting(on);
  chat.type("write a");
  await chat.saw("allow? [y/N]");
  const question = await chat.screen();
  for (let at = 0; at < 60; at += 1) assert.ok(question.includes(`+line ${at}\n`), `line ${at}`);
  chat.type("/quit");
  await chat.finished;
});

test('[P4] [V5] [L2] a write is shown and needs permission; "always" is stored in the workspace, also for the next chat', async (t) => {
  const written: string[] = [];
  const on = await world(t, [writes(written)]);
  const first = chatting(on);
  first.type("write a");
  await first.saw("allow? [y/a/N]");
  assert.deepEqual(written, []);
  const question = await first.screen();
  assert.match(question, /^\? Write a\n {2}-old\n {2}\+new\n/m);
  assert.match(question, /a: always write files here in this workspace/);
  first.type("no, use b");
  await first.saw("result: denied: no, use b");
  first.type("write b");
  await first.saw("? Write b");
  first.type("y");
  await first.saw("result: wrote b");
  first.type("write c");
  await first.saw("? Write c");
  first.type("a");
  await first.saw("result: wrote c");
  first.type("/quit");
  await first.finished;
  const second = chatting(on);
  second.type("write d");
  await second.saw("result: wrote d");
  second.type("/quit");
  await second.finished;
  assert.doesNotMatch(await second.screen(), /allow\?/);
  assert.deepEqual(written, ["b", "c", "d"]);
  assert.match((await on.run(["workspace", "permissions", "default"])).stdout, /write here/);
});

test("[P4] [G2] in mode ask nothing is written, and the person is not asked", async (t) => {
  const written: string[] = [];
  const on = await world(t, [reads, writes(written)]);
  const chat = chatting(on);
  chat.type("/mode ask");
  await chat.saw("nothing is written or run");
  chat.type("write a");
  await chat.saw('mode "ask" does not allow');
  chat.type("/quit");
  await chat.finished;
  assert.deepEqual(written, []);
  assert.doesNotMatch(await chat.screen(), /allow\? \[/);
});

test("[T10] [V5] [L2] Ctrl-C ends the tool and the turn; the tool's result is sent with the next line", async (t) => {
  const on = await world(t, [lasting]);
  const chat = chatting(on);
  chat.type("run a");
  await chat.saw("line 2");
  chat.input.write("\u0003");
  await chat.saw("stopped; type what to do instead");
  chat.type("go on");
  await chat.saw("ok");
  chat.type("/quit");
  assert.equal((await chat.finished).exit, 0);
  const turns = await turnsOf(on);
  assert.deepEqual(
    turns.map(({ status, instructionSummary }) => [status, instructionSummary]),
    [
      ["awaiting_tool_results", "run a"],
      ["completed", "go on"],
    ],
  );
  const sent = await on.run(["session", "show", "last", "--turn", "2", "--request"]);
  assert.match(sent.stdout, /ended early/);
});

test("[T9] [V5] [L2] results that the server refused at first are sent with the next line", async (t) => {
  const archives: Tool = {
    ...lasting,
    run: async () => {
      await on.run(["session", "archive", "last"]);
      return { output: "it ran", isError: false };
    },
  };
  const on = await world(t, [archives]);
  const chat = chatting(on);
  chat.type("run a");
  await chat.saw("unarchive");
  const { stdout } = await on.run(["session", "list", "--archived", "--json"]);
  await on.run(["session", "unarchive", /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(stdout)?.[0] ?? ""]);
  chat.type("go on");
  await chat.saw("ok");
  chat.type("/quit");
  await chat.finished;
  assert.match((await on.run(["session", "show", "last", "--turn", "2", "--request"])).stdout, /it ran/);
});

test("[T9] [T6] [L2] unsent results go with a fork of their turn, and not with one that was undone", async (t) => {
  for (const command of ["/fork", "/undo"]) {
    const on = await world(t, [lasting]);
    const chat = chatting(on);
    chat.type("run a");
    await chat.saw("line 2");
    chat.input.write("\u0003");
    await chat.saw("stopped; type what to do instead");
    chat.type(command);
    await chat.saw(command === "/fork" ? "a fork of turn" : "undid turn");
    chat.type("go on");
    await chat.saw("ok");
    chat.type("/quit");
    await chat.finished;
    const sent = await on.run(["session", "show", "last", "--request"]);
    assert.equal(/ended early/.test(sent.stdout), command === "/fork");
  }
});

test("[V5] [L2] a line that is typed while a tool of the chat runs is sent to the model with its result", async (t) => {
  const [started, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Tool = {
    ...reads,
    run: async () => {
      started.resolve();
      await gate.promise;
      return { output: "slow", isError: false };
    },
  };
  const on = await world(t, [slow]);
  const chat = chatting(on);
  chat.type("read a");
  await started.promise;
  chat.type("be brief");
  await chat.saw("will be sent: be brief");
  gate.resolve();
  await chat.saw("ok");
  chat.type("/quit");
  await chat.finished;
  const turns = await turnsOf(on);
  assert.deepEqual(
    turns.map(({ instructionSummary }) => instructionSummary),
    ["read a", "be brief"],
  );
});

test("[V5] [R2] a call that a killed chat left open is run again only after asking, even if it only reads", async (t) => {
  const on = await world(t, [reads]);
  const { repo } = await findWorkingCopy(on.copy);
  const request = { instruction: "read a", tools: [reads.definition], workspaceId: "default", repo };
  const server = on.start(["serve", "--port", "0"]);
  await server.saw("http://127.0.0.1:");
  const { url, key } = await serverOf(on);
  const answer = await fetch(`${url}/api/ai/agent/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(request),
  });
  assert.equal(((await answer.json()) as { kind: string }).kind, "tool_calls");
  const chat = chatting(on, "--continue");
  await chat.saw("allow? [y/N]");
  assert.match(await chat.screen(), /this call is from an earlier chat and may have run already/);
  chat.type("y");
  await chat.saw("result: contents of a");
  chat.type("/quit");
  await chat.finished;
  server.signals.emit("SIGTERM");
  await server.finished;
});

async function serverOf(on: CliWorld): Promise<{ url: string; key: string }> {
  const { readFile } = await import("node:fs/promises");
  return JSON.parse(await readFile(`${on.dataDir}/server.json`, "utf8")) as { url: string; key: string };
}

test("[Q5] [L2] a chat with tools works about a repository without an index, and says so once; without tools nothing is left", async (t) => {
  const on = await world(t, [reads]);
  const chat = chatting(on, "--repo", "elsewhere");
  chat.type("read a");
  await chat.saw("result: contents of a");
  chat.type("read b");
  await chat.saw("result: contents of b");
  chat.type("/quit");
  assert.equal((await chat.finished).exit, 0);
  assert.equal((await chat.screen()).match(/\(index_missing\)/g)?.length, 1);
  const refused = await on.run(["chat", "--repo", "elsewhere"], { stdin: "hello\n" });
  assert.match(refused.stderr, /elsewhere is not indexed.*\(index_missing\)/);
  const { stdout } = await on.run(["session", "list", "--json"]);
  assert.equal((JSON.parse(stdout) as { sessions: unknown[] }).sessions.length, 1);
});

test("[V5] [L2] --no-tools offers none of the chat's tools, and a pipe cannot be asked", async (t) => {
  const offered: string[][] = [];
  const on = await world(t, [reads], (call) => {
    offered.push(call.tools.map(({ name }) => name));
    return "ok";
  });
  const chat = chatting(on, "--no-tools");
  chat.type("hello");
  await chat.saw("ok");
  chat.type("/quit");
  await chat.finished;
  await on.run(["chat"], { stdin: "hello\n" });
  // The memory of the workspace is the engine's.
  assert.deepEqual(offered, [["remember"], ["remember"]]);
});

function opened(tool: Tool): { tools: ChatTools; run(signal?: AbortSignal): ReturnType<ChatTools["run"]> } {
  const permits = { isAllowed: async () => false, allow: async () => {}, scope: "chat" as const };
  const session = { tools: async () => [tool], warnings: () => [], close: async () => {} };
  const tools = new ChatTools(async () => session, permits);
  const context = { sessionId: "s", turnId: "t", callId: "c", showOutput: () => {} };
  return { tools, run: (signal = new AbortController().signal) => tools.run(tool, {}, { ...context, signal }) };
}

test("[P5] a long output is cut in the middle, and later calls can read the whole", async () => {
  const whole = `begin${"x".repeat(limits.toolResultCharactersMax)}end`;
  let context: ToolContext | null = null;
  const tool: Tool = {
    ...reads,
    run: async (_args, given) => {
      context = given;
      return { output: whole, isError: false };
    },
  };
  const { run } = opened(tool);
  const { output } = await run();
  assert.ok(output.length < limits.toolResultCharactersMax + 200);
  assert.match(output, /^begin[^]*the whole output can be read as output:c[^]*end$/);
  assert.equal(await (context as ToolContext | null)?.readOutput("c"), whole);
  assert.equal(await (context as ToolContext | null)?.readOutput("other"), null);
});

test("[P5] a tool that throws, hangs or does not end when it is stopped is an error result", async () => {
  const throwing = opened({ ...reads, run: async () => Promise.reject(new TypeError("broken")) });
  assert.deepEqual(await throwing.run(), { output: "failed: broken", isError: true });
  const hanging = opened({ ...reads, timeMs: 1, run: () => new Promise(() => {}) });
  const deaf = opened({ ...reads, run: () => new Promise(() => {}) });
  const [late, stopped] = await Promise.all([hanging.run(), deaf.run(AbortSignal.abort())]);
  assert.deepEqual(late, { output: "failed: no result within 0.001 s", isError: true });
  assert.match(stopped.output, /the user stopped the call/);
});

/** Waits until the chat's question can be answered elsewhere. */
async function askedElsewhere(client: AptoveClient): Promise<WireApprovals["approvals"][number]> {
  for (;;) {
    const [waiting] = (await client.approvals()).approvals;
    if (waiting !== undefined) return waiting;
  }
}

test("[P4] [V5] [U8] what a chat asks about is allowed permanently from elsewhere, and the chat does not ask again", async (t) => {
  const written: string[] = [];
  const on = await world(t, [writes(written)]);
  const server = on.start(["serve", "--port", "0"]);
  await server.saw("http://127.0.0.1:");
  const page = createClient(await serverOf(on));
  const chat = chatting(on);
  chat.type("write a");
  await chat.saw("allow? [y/a/N]");
  const asked = await askedElsewhere(page);
  assert.ok("label" in asked.always);
  await page.turns.answerQuestion(asked.turnId, { callId: asked.callId, approved: true, always: true });
  await chat.saw("result: wrote a");
  chat.type("write b");
  await chat.saw("result: wrote b");
  assert.deepEqual(written, ["a", "b"]);
  chat.type("/quit");
  await chat.finished;
  assert.match(await chat.screen(), /always .* by an answer from elsewhere/);
  server.signals.emit("SIGTERM");
  await server.finished;
});

test("[V5] [U8] [L2] the question of a chat is answered from elsewhere, with the exact change before the eyes, and the chat goes on", async (t) => {
  const written: string[] = [];
  const on = await world(t, [writes(written)]);
  const server = on.start(["serve", "--port", "0"]);
  await server.saw("http://127.0.0.1:");
  const phone = createClient(await serverOf(on));
  const chat = chatting(on);
  chat.type("write a");
  await chat.saw("allow? [y/a/N]");
  const asked = await askedElsewhere(phone);
  assert.equal(asked.isParked, false);
  assert.deepEqual(asked.view?.content, [{ type: "diff", path: "/a", oldText: "old\n", newText: "new\n" }]);
  assert.equal(asked.view.permission, null);
  await phone.turns.answerQuestion(asked.turnId, { callId: asked.callId, approved: true });
  await chat.saw("result: wrote a");
  assert.deepEqual(written, ["a"]);
  chat.type("write b");
  await chat.saw("allow? [y/a/N]");
  const second = await askedElsewhere(phone);
  await phone.turns.answerQuestion(second.turnId, { callId: second.callId, approved: false, reason: "not that file" });
  await chat.saw("result: denied: not that file");
  chat.type("write c");
  await chat.saw("allow? [y/a/N]");
  const third = await askedElsewhere(phone);
  chat.type("y");
  await chat.saw("result: wrote c");
  const late = phone.turns.answerQuestion(third.turnId, { callId: third.callId, approved: false });
  await assert.rejects(late, { code: "question_not_open" });
  assert.deepEqual(written, ["a", "c"]);
  assert.deepEqual((await phone.approvals()).approvals, []);
  chat.type("/quit");
  await chat.finished;
  assert.match(await chat.screen(), /allowed by an answer from elsewhere/);
  server.signals.emit("SIGTERM");
  await server.finished;
});
