import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../testing/cli.ts";
import { testDoor } from "../../testing/http-door.ts";
import { hasCode } from "../../testing/refusals.ts";
import type { WireImportReport } from "../client/client.ts";

const time = "2026-11-24T02:05:00.000Z";
const common = { timestamp: time, sessionId: "s-1", version: "2.1.330", cwd: "/nowhere/at/all", isSidechain: false };

function asked(uuid: string, parentUuid: string | null, content: unknown): object {
  return { ...common, type: "user", uuid, parentUuid, message: { role: "user", content } };
}

function answered(uuid: string, parentUuid: string, { id, part }: { id: string; part: object }): object {
  const usage = { input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 0 };
  const message = { id, role: "assistant", model: "claude-sonnet-4-5", content: [part], usage };
  return { ...common, type: "assistant", uuid, parentUuid, message };
}

/** A question with two calls, one of which starts a subagent, and a second question. */
const claudeLines = [
  asked("u1", null, "Run the echo"),
  answered("a1", "u1", { id: "m1", part: { type: "thinking", thinking: "I should run it." } }),
  answered("a2", "a1", { id: "m1", part: { type: "tool_use", id: "t1", name: "Bash", input: { command: "echo hi" } } }),
  answered("a3", "a2", { id: "m1", part: { type: "tool_use", id: "t2", name: "Task", input: { prompt: "look" } } }),
  asked("r1", "a2", [{ type: "tool_result", tool_use_id: "t1", content: "hi", is_error: false }]),
  {
    ...asked("r2", "a3", [{ type: "tool_result", tool_use_id: "t2", content: [{ type: "text", text: "found" }] }]),
    toolUseResult: { agentId: "ab12", description: "look" },
  },
  answered("a4", "r2", { id: "m2", part: { type: "text", text: "It written hi." } }),
  { type: "last-prompt", sessionId: "s-1" },
  asked("u2", "a4", "And now?"),
  answered("a5", "u2", { id: "m3", part: { type: "text", text: "Now it is done." } }),
];

function lines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("");
}

function claudeHistory(world: CliWorld, more: readonly object[] = []): string {
  const folder = join(world.copy, "..", "projects");
  mkdirSync(join(folder, "s-1", "subagents"), { recursive: true });
  const aside = [asked("x1", null, "look"), answered("x2", "x1", { id: "m9", part: { type: "text", text: "found" } })];
  writeFileSync(join(folder, "s-1", "subagents", "agent-ab12.jsonl"), lines(aside));
  const file = join(folder, "s-1.jsonl");
  writeFileSync(file, lines([...claudeLines, ...more]));
  return file;
}

async function imported(world: CliWorld, tool: string, file: string): Promise<WireImportReport> {
  const run = await world.run(["session", "import", "--from", tool, "--yes", "--json", file]);
  assert.equal(run.exit, 0, run.stderr);
  const { conversations } = JSON.parse(run.stdout) as { conversations: WireImportReport[] };
  const [report] = conversations;
  assert.ok(report);
  return report;
}

async function markdownOf(world: CliWorld, id: string): Promise<string> {
  return (await world.run(["session", "export", id, "--markdown"])).stdout;
}

async function assertVerified(world: CliWorld, id: string, count: number): Promise<void> {
  assert.match((await world.run(["session", "verify", id])).stdout, new RegExp(`^${count} turns? verified`));
}

test("[O8] a conversation of Claude Code comes with its calls and subagents, once, and can be continued", async (t) => {
  const world = await cliWorld(t);
  const file = claudeHistory(world);
  const report = await imported(world, "claude-code", file);
  const id = report.sessions[0]?.id ?? "";
  assert.equal(report.turnsImported, 3);
  await assertVerified(world, id, 3);
  const page = await markdownOf(world, id);
  for (const text of ["Run the echo", "It written hi.", "And now?", "Now it is done.", "echo hi"])
    assert.ok(page.includes(text), text);
  assert.equal((await imported(world, "claude-code", file)).turnsImported, 0);
  const exported = await world.run(["session", "export", id]);
  const other = await cliWorld(t);
  const moved = await other.run(["session", "import", "-", "--json"], { stdin: exported.stdout });
  assert.equal(moved.exit, 0, moved.stderr);
  await assertVerified(other, id, 3);
  const went = await world.run(["ask", "--session", id, "go on"]);
  assert.equal(went.exit, 0, went.stderr);
  await assertVerified(world, id, 4);
});

test("[O8] a conversation that went on is taken over from where it was", async (t) => {
  const world = await cliWorld(t);
  await imported(world, "claude-code", claudeHistory(world));
  const more = [
    asked("u3", "a5", "A third"),
    answered("a6", "u3", { id: "m4", part: { type: "text", text: "Third." } }),
  ];
  const report = await imported(world, "claude-code", claudeHistory(world, more));
  assert.deepEqual([report.turnsImported, report.turnsKnown], [1, 3]);
  assert.match(await markdownOf(world, report.sessions[0]?.id ?? ""), /And now\?[^]*A third[^]*Third\./);
});

test("[O8] what would come is shown first, and a cut line is counted and kept", async (t) => {
  const world = await cliWorld(t);
  const file = claudeHistory(world);
  writeFileSync(file, `${lines(claudeLines)}{"type":"user","mess`);
  const run = await world.run(["session", "import", "--from", "claude-code", "--dry-run", file]);
  assert.match(run.stdout, /Run the echo: 2 turns, 1 turn of subagents, 2 tool calls/);
  assert.match(run.stdout, /1 × line without an end/);
  assert.match((await world.run(["session", "list"])).stderr, /there are no sessions yet/);
  const unasked = await world.run(["session", "import", "--from", "claude-code", file]);
  assert.deepEqual([unasked.exit, /--yes/.test(unasked.stderr)], [2, true]);
});

test("[O8] a file of another form is refused with a code, and a link in a folder is not followed", async (t) => {
  const world = await cliWorld(t);
  const folder = join(world.copy, "..", "other");
  mkdirSync(folder);
  const refused = async (content: string, name = "s.jsonl"): Promise<string> => {
    writeFileSync(join(folder, name), content);
    const run = await world.run(["session", "import", "--from", "claude-code", "--yes", join(folder, name)]);
    assert.equal(run.exit, 1);
    return run.stderr;
  };
  assert.match(await refused("no history\n"), /import_invalid/);
  assert.match(await refused("no zstd", "s.jsonl.zst"), /s\.jsonl\.zst cannot be unpacked.*import_invalid/);
  assert.match(await refused(lines([{ type: "future", version: "9.0.0", sessionId: "s" }])), /import_newer/);
  symlinkSync("/etc/hostname", join(folder, "l.jsonl"));
  const all = await world.run(["session", "import", "--from", "claude-code", "--yes", "--all", folder]);
  assert.match(all.stderr, /l\.jsonl is a link/);
});

test("[O8] each file of a folder that holds no conversation of the tool is named, and the others come", async (t) => {
  const world = await cliWorld(t);
  const folder = join(claudeHistory(world), "..");
  writeFileSync(join(folder, "plain.jsonl"), "no history\n");
  writeFileSync(join(folder, "later.jsonl"), lines([{ type: "future", version: "9.0.0", sessionId: "s" }]));
  const run = await world.run(["session", "import", "--from", "claude-code", "--yes", "--all", folder]);
  assert.equal(run.exit, 0, run.stderr);
  assert.match(run.stdout, /\(3 turns\)/);
  assert.match(run.stderr, /plain\.jsonl is not a history of claude-code; it was left out/);
  assert.match(run.stderr, /claude-code 9\.0\.0 wrote \S+later\.jsonl in a form that is not known/);
  rmSync(join(folder, "s-1.jsonl"));
  const none = await world.run(["session", "import", "--from", "claude-code", "--yes", "--all", folder]);
  assert.equal(none.exit, 2);
  assert.match(none.stderr, /plain\.jsonl is not a history/);
  assert.match(none.stderr, /fix: name a file or folder that claude-code wrote\n$/);
});

function codex(type: string, payload: object): object {
  return { timestamp: time, type, payload };
}

async function oneTurn(
  t: TestContext,
  tool: string,
  { name, values }: { name: string; values: object[] },
): Promise<string> {
  const world = await cliWorld(t);
  const file = join(world.copy, name);
  writeFileSync(file, name.endsWith(".zst") ? zstdCompressSync(lines(values)) : lines(values));
  const report = await imported(world, tool, file);
  assert.equal(report.turnsImported, 2);
  await assertVerified(world, report.sessions[0]?.id ?? "", 2);
  return await markdownOf(world, report.sessions[0]?.id ?? "");
}

for (const name of ["rollout-1.jsonl", "rollout-1.jsonl.zst"])
  test(`[O8] a conversation of Codex comes with its calls: ${name}`, async (t) => {
    const message = (role: string, type: string, text: string): object =>
      codex("response_item", { type: "message", role, content: [{ type, text }] });
    const page = await oneTurn(t, "codex", {
      name,
      values: [
        codex("session_meta", { id: "c-1", cli_version: "0.169.0", cwd: "/nowhere/at/all" }),
        codex("turn_context", { model: "gpt-5.1-codex" }),
        message("user", "input_text", "<environment_context>\n</environment_context>"),
        message("user", "input_text", "List the files"),
        codex("response_item", {
          type: "function_call",
          call_id: "c1",
          name: "exec_command",
          arguments: '{"cmd":"ls"}',
        }),
        codex("response_item", { type: "function_call_output", call_id: "c1", output: "a.txt" }),
        message("assistant", "output_text", "There is one file."),
        message("user", "input_text", "Thanks"),
        message("assistant", "output_text", "You are welcome."),
      ],
    });
    assert.match(page, /List the files[^]*exec_command[^]*There is one file\.[^]*Thanks[^]*You are welcome\./);
    assert.ok(!page.includes("environment_context"));
  });

test("[O8] a conversation of Gemini CLI comes with its calls, and without what the person went back behind", async (t) => {
  const user = (id: string, text: string): object => ({ id, timestamp: time, type: "user", content: [{ text }] });
  const response = { output: "a.txt" };
  const call = {
    id: "g1",
    name: "run_shell_command",
    args: { command: "ls" },
    result: [{ functionResponse: { id: "g1", response } }],
  };
  const answer = (id: string, content: string, more: object = {}): object => ({
    id,
    timestamp: time,
    type: "gemini",
    content,
    model: "gemini-2.5-flash",
    ...more,
  });
  const page = await oneTurn(t, "gemini", {
    name: "session-1.jsonl",
    values: [
      { sessionId: "g-1", projectHash: "x", startTime: time, lastUpdated: time, kind: "main" },
      user("1", "List the files"),
      answer("2", "", { toolCalls: [call] }),
      answer("3", "There is one file."),
      user("4", "A mistake"),
      { $rewindTo: "4" },
      user("5", "Thanks"),
      answer("6", "You are welcome."),
    ],
  });
  assert.match(page, /List the files[^]*run_shell_command[^]*There is one file\.[^]*Thanks[^]*You are welcome\./);
  assert.ok(!page.includes("A mistake"));
});

test("[O8] without --all, the newest conversation about this folder comes, and no other", async (t) => {
  const world = await cliWorld(t);
  const home = join(world.copy, "..", "home");
  const write = (path: string, values: readonly object[]): void => {
    mkdirSync(join(home, path, ".."), { recursive: true });
    writeFileSync(join(home, path), lines(values));
  };
  const whole = (id: string): object[] => [
    { sessionId: id, projectHash: "x", startTime: time, lastUpdated: time, kind: "main" },
    { id: "1", timestamp: time, type: "user", content: [{ text: `Question of ${id}` }] },
    { id: "2", timestamp: time, type: "gemini", content: "so", model: "gemini-2.5-flash" },
  ];
  write(".gemini/tmp/here/chats/session-1.jsonl", whole("here"));
  writeFileSync(join(home, ".gemini/tmp/here/.project_root"), `${world.copy}\n`);
  write(".gemini/tmp/other/chats/session-2.jsonl", whole("other"));
  writeFileSync(join(home, ".gemini/tmp/other/.project_root"), "/somewhere/else");
  write(".gemini/tmp/unknown/chats/session-3.jsonl", whole("unknown"));
  const shown = (...more: string[]) =>
    world.run(["session", "import", "--from", "gemini", "--dry-run", ...more], { env: { HOME: home } });
  const newest = await shown();
  assert.match(newest.stdout, /Question of here/);
  assert.doesNotMatch(newest.stdout, /other|unknown/);
  assert.match((await shown("--all")).stdout, /Question of here[^]*Question of other[^]*Question of unknown/);
  const none = await world.run(["session", "import", "--from", "codex", "--dry-run"], {
    env: { HOME: home, CODEX_HOME: join(home, ".gemini") },
  });
  assert.equal(none.exit, 2);
  assert.match(none.stderr, /is not a file or folder|there is no conversation of codex about/);
});

test("[O8] a subagent of Codex that began on the next day belongs to its conversation", async (t) => {
  const world = await cliWorld(t);
  const sessions = join(world.copy, "..", "codex", "sessions", "2026");
  const write = (path: string, values: readonly object[]): string => {
    mkdirSync(join(sessions, path, ".."), { recursive: true });
    writeFileSync(join(sessions, path), lines(values));
    return join(sessions, path);
  };
  const text = (role: string, type: string, words: string): object =>
    codex("response_item", { type: "message", role, content: [{ type, text: words }] });
  const agentId = "01a20b4e-331f-7382-a763-c5df86cd2ad8";
  const output = JSON.stringify({ agent_id: agentId });
  const file = write("11/24/rollout-2026-11-24T23-59-00-c-1.jsonl", [
    codex("session_meta", { id: "c-1", cli_version: "0.169.0", cwd: "/nowhere/at/all" }),
    text("user", "input_text", "Look around"),
    codex("response_item", { type: "function_call", call_id: "c1", name: "spawn_agent", arguments: "{}" }),
    codex("response_item", { type: "function_call_output", call_id: "c1", output }),
    text("assistant", "output_text", "It looks fine."),
  ]);
  write(`11/25/rollout-2026-11-25T00-00-01-${agentId}.jsonl`, [
    codex("session_meta", {
      id: agentId,
      cli_version: "0.169.0",
      source: { subagent: { thread_spawn: { parent_thread_id: "c-1" } } },
    }),
    text("user", "input_text", "look"),
    text("assistant", "output_text", "all is there"),
  ]);
  const run = await world.run(["session", "import", "--from", "codex", "--dry-run", file]);
  assert.match(run.stdout, /Look around: 1 turn, 1 turn of subagents/, run.stderr);
});

const header = {
  ...{ tool: "codex", id: "c-1", version: null, folder: null, repo: null, name: null },
  ...{ createdAt: 1, updatedAt: 1 },
};

function sourceOf(text: string): object {
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { gzip: gzipSync(text).toString("base64"), bytes: text.length, sha256 };
}

/** The lines of a conversation of these turns, each of which continues the one before. */
async function* conversation(...turns: { id: string; source?: object }[]): AsyncGenerator<string> {
  yield JSON.stringify({ aptove: "conversation", format: 1, session: header });
  for (const [index, { id, source = sourceOf(id) }] of turns.entries()) {
    yield JSON.stringify({
      ...{ id, parent: turns[index - 1]?.id ?? null, startedAt: 1, endedAt: 1, model: "m", instruction: `ask ${id}` },
      ...{ items: [{ type: "assistant", text: `answer ${id}` }], stopReason: "stop", modelRequests: 1, usage: null },
      ...{ unmapped: {}, source, subagents: [] },
    });
  }
}

test("[O8] [H5] a source that is not what its turn says is refused, also one that would fill the memory", async (t) => {
  const { engine, admin, client, refused } = await testDoor(t);
  const zeros = Buffer.alloc(50_000_000);
  const bomb = gzipSync(zeros).toString("base64");
  const hash = createHash("sha256").update("x").digest("hex");
  for (const source of [
    { gzip: gzipSync("y").toString("base64"), bytes: 1, sha256: hash },
    { gzip: "", bytes: 1, sha256: hash },
    { gzip: bomb, bytes: 1, sha256: hash },
    { gzip: bomb, bytes: 2 ** 40, sha256: createHash("sha256").update(zeros).digest("hex") },
  ]) {
    await assert.rejects(engine.transfer.import(admin, conversation({ id: "t", source })), hasCode("import_invalid"));
  }
  const report = await engine.transfer.import(admin, conversation({ id: "t", source: sourceOf("x") }));
  assert.equal(report.turnsImported, 1);
  const sessionId = report.sessions[0]?.id ?? assert.fail();
  const stored = await client().sessions.lastTurn(sessionId);
  assert.partialDeepStrictEqual(stored.foreign, { tool: "codex", sessionId: "c-1", turn: "t", bytes: 1, sha256: hash });
  assert.equal(Buffer.from(await client().turns.source(stored.id)).toString(), "x");
  const own = await client().execute({ instruction: "more", sessionId });
  assert.equal((await client().turns.get(own.turnId)).foreign, null);
  await refused("not_found", `GET /api/turns/${own.turnId}/source`);
});

test("[O8] [B1] imports of one conversation at once, also of more and fewer of its turns, make one session with each turn once", async (t) => {
  const { engine, admin, client } = await testDoor(t);
  const ids = ["t1", "t2", "t3"].map((id) => ({ id }));
  const reports = await Promise.all(
    [3, 2, 3].map((count) => engine.transfer.import(admin, conversation(...ids.slice(0, count)))),
  );
  const [sessionId = ""] = new Set(reports.map(({ sessions }) => sessions[0]?.id));
  assert.equal(new Set(reports.map(({ sessions }) => sessions[0]?.id)).size, 1);
  assert.equal(
    reports.reduce((sum, { turnsImported }) => sum + turnsImported, 0),
    3,
  );
  const { turns } = await client().sessions.turns(sessionId);
  assert.deepEqual(
    turns.map(({ instructionSummary }) => instructionSummary),
    ["ask t3", "ask t2", "ask t1"],
  );
  assert.partialDeepStrictEqual(await engine.explain.verify(admin, sessionId), { turnsChecked: 3, fault: null });
  assert.equal((await client().execute({ instruction: "more", sessionId })).kind, "answer");
});

test("[O8] [S6] a conversation that was purged can be imported again", async (t) => {
  const { engine, admin } = await testDoor(t);
  const { sessions } = await engine.transfer.import(admin, conversation({ id: "t1" }));
  const id = sessions[0]?.id ?? assert.fail();
  await engine.tree.remove(admin, id);
  await assert.rejects(engine.transfer.import(admin, conversation({ id: "t1" }, { id: "t2" })), hasCode("not_found"));
  await engine.tree.purge(admin, id);
  const again = await engine.transfer.import(admin, conversation({ id: "t1" }, { id: "t2" }));
  assert.deepEqual([again.turnsImported, again.sessions[0]?.id], [2, id]);
});
