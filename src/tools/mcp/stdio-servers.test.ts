/** Servers that are processes, including hostile ones (P5). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { hostile, mcpWorld, until } from "../../../testing/mcp-world.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { limits } from "../../domain/limits.ts";
import { sendSignal } from "../../system/process-family.ts";
import type { McpServer } from "../session-tools.ts";
import { openMcpTools } from "./open-mcp-tools.ts";

test("[P5] tools show their effect, need permission to change anything, and are allowed one by one", async (context) => {
  const world = mcpWorld(context, [hostile("obeys")]);
  assert.deepEqual(await world.names(), ["obeys__ask", "obeys__change"]);
  const [ask, change] = [await world.tool("obeys__ask"), await world.tool("obeys__change")];
  assert.deepEqual([ask.definition.effect, ask.needsApproval({})], ["read", false]);
  assert.deepEqual([change.definition.effect, change.needsApproval({})], ["run", true]);
  const view = await change.view?.({ word: "hello" });
  assert.match(view?.permission?.key ?? "", /^mcp obeys change [0-9a-f]{32} in "/);
  assert.deepEqual(view, {
    title: "obeys: change",
    kind: "other",
    locations: [],
    content: [{ type: "text", text: '{\n  "word": "hello"\n}' }],
    permission: { key: view?.permission?.key, label: "obeys: change" },
  });
  assert.equal((await ask.view?.({}))?.kind, "read");
  assert.deepEqual(await world.call("obeys__change"), { output: "change", isError: false });
  assert.deepEqual(
    world.mcp.status().map(({ startedInMs: _ms, ...status }) => status),
    [
      {
        name: "obeys",
        type: "stdio",
        state: "ready",
        version: "hostile obeys 1",
        protocol: "2025-06-18",
        tools: ["ask", "change"],
        failure: null,
        faults: [],
      },
    ],
  );
});

test("[P5] [P4] text of a server cannot look like a part of its permission question", async (context) => {
  const world = mcpWorld(context, [hostile("bad-names"), hostile("die-with-escapes")]);
  assert.deepEqual(await world.names(), [
    "bad-names__a___2J_b",
    "bad-names__good",
    "die-with-escapes__ask",
    "die-with-escapes__change",
  ]);
  assert.match(world.mcp.warnings().join(), /a name of more than 255 characters: "x{50,}…"$/);
  const shown = '"bad-names: a\\n\\u001b[2J\\u202eb"';
  const view = await (await world.tool("bad-names__a___2J_b")).view?.({ long: "y".repeat(100_000) });
  assert.deepEqual([view?.title, view?.permission?.label], [shown, shown]);
  // A permission question shows the whole call.
  const [content] = view?.content ?? [];
  assert.ok(content?.type === "text");
  assert.ok(content.text.includes("y".repeat(100_000)));
  const { output } = await world.call("die-with-escapes__change");
  assert.match(output, /the last line of its standard error: \\u001b\]0;title\\u0007\\u202eend$/);
});

test("[P4] a permanent permission for a tool covers the same server in the same folder only", async (context) => {
  const keyOf = async (server: McpServer, folder: string): Promise<string | undefined> => {
    const { tool, mcp } = mcpWorld(context, [server], { folders: [folder] });
    const view = await (await tool("obeys__change")).view?.({});
    await mcp.close();
    return view?.permission?.key;
  };
  const usual = hostile("obeys");
  assert(usual.type === "stdio");
  const [here, there] = [await temporaryFolder(context), await temporaryFolder(context)];
  const key = await keyOf(usual, here);
  assert.equal(await keyOf({ ...usual }, here), key);
  const others = [
    await keyOf(usual, there),
    await keyOf({ ...usual, args: [...usual.args, "--of-another-project"] }, here),
    await keyOf({ ...usual, env: { ...usual.env, WHERE: "elsewhere" } }, here),
  ];
  assert.equal(new Set([key, ...others]).size, 4);
});

const failures: [mode: string, words: RegExp][] = [
  ["hang", /^failed: the MCP server "hang" gave no result within 1 s$/],
  ["wrong-id", /^failed: the MCP server "wrong-id" gave no result within 1 s$/],
  ["flood-notifications", /gave no result within 1 s$/],
  ["flood-requests", /gave no result within 1 s$/],
  ["endless-progress", /gave no result within 1 s$/],
  ["die", /^failed: the MCP server "die" ended with exit code 3$/],
  ["die-with-words", /ended with exit code 4; the last line of its standard error: cannot open the database$/],
  ["bad-result", /sends a response that is not valid: Invalid result for tools\/call/],
  ["no-result", /refuses: the response is not a message of the protocol/],
  ["refuses", /^failed: the MCP server "refuses" refuses: no such tool x{400,}…$/],
  ["huge-line", /sent a message of more than 16777216 bytes$/],
];

const patient = { timeMs: 40_000 };

test("[P5] whatever a server does to a call, the model gets an error, and the other servers continue", async (context) => {
  const world = mcpWorld(context, [
    ...failures.map(([mode, words]) => hostile(mode, words.source.includes("gave no result") ? {} : patient)),
    hostile("obeys"),
  ]);
  await world.mcp.tools();
  const before = process.memoryUsage().rss;
  const results = await Promise.all(failures.map(async ([mode]) => await world.call(`${mode}__ask`)));
  for (const [at, [mode, words]] of failures.entries()) {
    assert.equal(results[at]?.isError, true, mode);
    assert.match(results[at]?.output ?? "", words);
    assert.equal((results[at]?.output.length ?? 0) < 1_000, true);
  }
  assert.deepEqual(await world.call("obeys__ask"), { output: "ask", isError: false });
  // Without the limits they would have sent gigabytes.
  assert.equal(process.memoryUsage().rss - before < 300_000_000, true);
});

const survivals: [mode: string, output: string][] = [
  ["twice-answered", "first"],
  ["bad-json", "after the rubbish"],
  ["flood-then-answer", "after the flood"],
  ["flood-errors", "after the errors"],
];

test("[P5] other output of a server does not hide its response", async (context) => {
  const world = mcpWorld(
    context,
    survivals.map(([mode]) => hostile(mode, patient)),
  );
  for (const [mode, output] of survivals) {
    assert.deepEqual(await world.call(`${mode}__ask`), { output, isError: false });
  }
});

test("[P5] responses in another order reach their calls", async (context) => {
  const world = mcpWorld(context, [hostile("out-of-order", patient)]);
  const words = ["one", "two", "three"];
  const results = await Promise.all(words.map((word) => world.call("out-of-order__ask", { word })));
  assert.deepEqual(
    results.map(({ output }) => output),
    words,
  );
});

test("[P5] servers that do not start cost only their own tools and a limited time", async (context) => {
  const missing: McpServer = { type: "stdio", name: "missing", command: "no-such-command-anywhere", args: [], env: {} };
  const never = hostile("never-starts");
  const servers = [never, hostile("ends-at-once"), missing, hostile("obeys"), hostile("obeys")];
  const slow = mcpWorld(context, servers, { times: { waitMs: 20_000, startMs: 5_000 } });
  assert.deepEqual(await slow.names(), ["obeys__ask", "obeys__change"]);
  assert.deepEqual(slow.mcp.warnings(), [
    'the MCP server "obeys" is left out: another server has the same name',
    'the MCP server "never-starts" did not start within 5 s',
    'the MCP server "ends-at-once" ended with exit code 1',
    'the MCP server "missing" cannot be started: there is no such command or folder',
  ]);
  const impatient = mcpWorld(context, [never], { times: { waitMs: 1 } });
  assert.deepEqual(await impatient.names(), []);
  assert.deepEqual(impatient.mcp.warnings(), [
    'the MCP server "never-starts" is still starting; its tools will be available later',
  ]);
});

test("[P5] invalid schemas, too many tools and endless lists are left out with a warning", async (context) => {
  const world = mcpWorld(context, [hostile("bad-schemas"), hostile("many-tools"), hostile("endless-list")]);
  const names = await world.names();
  assert.equal(names.length, limits.mcpToolsMax);
  assert.equal(names.includes("bad-schemas__good"), true);
  assert.equal(names.filter((name) => name.startsWith("endless-list__")).length, 20);
  const warnings = world.mcp.warnings();
  assert.equal(warnings.length, 7);
  assert.match(
    warnings.join("\n"),
    /"bad-schemas": tools are left out that have a schema deeper than 100 levels: "deep"/,
  );
});

test("[P5] a process that knows only the newest protocol is connected with it", async (context) => {
  const world = mcpWorld(context, [hostile("new", patient)]);
  assert.deepEqual(await world.call("new__ask"), { output: "newly", isError: false });
  assert.equal(world.mcp.status()[0]?.protocol, "2026-07-28");
});

test("[P5] a changed list of tools is used in the next call", async (context) => {
  const world = mcpWorld(context, [hostile("list-change")]);
  assert.deepEqual(await world.names(), ["list-change__ask", "list-change__change"]);
  assert.equal((await world.call("list-change__ask")).output, "changed");
  assert.deepEqual(await world.names(), ["list-change__ask", "list-change__new"]);
});

test("[P5] progress is shown, and extends the time of a call", async (context) => {
  const shown: string[] = [];
  const servers = ["slow", "hang"].map((mode) => {
    const { timeMs: _timeMs, ...server } = hostile(mode);
    return server;
  });
  const world = mcpWorld(context, servers, { times: { idleMs: 1_000 } });
  const { output } = await world.call("slow__ask", {}, { showOutput: (text) => shown.push(text) });
  assert.equal(output, "done at last");
  assert.equal(shown[0], "1 of 60: busy\n");
  // Progress that arrives together with the result may be too late.
  assert.equal(shown.length >= 59, true);
  assert.match((await world.call("hang__ask")).output, /gave no result and showed no progress within 1 s$/);
});

test("[P5] characters of a progress that deceive are shown as their codes", async (context) => {
  const shown: string[] = [];
  const stop = new AbortController();
  const showOutput = (text: string): void => {
    shown.push(text);
    stop.abort();
  };
  const world = mcpWorld(context, [hostile("progress-with-escapes", patient)]);
  await world.call("progress-with-escapes__ask", {}, { signal: stop.signal, showOutput });
  assert.deepEqual(shown, ["1: step\\u001b[2J\\u202e\n"]);
});

test("[P5] a part of a type that is not known costs only itself", async (context) => {
  const world = mcpWorld(context, [hostile("unknown-part")]);
  const output = '[a part of the unknown type "hologram\\u001b[2J" is left out]\n\nthe rest';
  assert.deepEqual(await world.call("unknown-part__ask"), { output, isError: false });
});

test("[P5] a stopped call is cancelled at the server without waiting for its result", async (context) => {
  const world = mcpWorld(context, [hostile("cancel", patient)]);
  const stop = new AbortController();
  const call = world.call("cancel__ask", {}, { signal: stop.signal, showOutput: () => stop.abort() });
  assert.deepEqual(await call, { output: 'failed: the MCP server "cancel" was interrupted', isError: true });
  const { output } = await world.call("cancel__ask", { what: "was cancelled" });
  assert.match(output, /^\[\d+\]$/);
});

test("[P5] a server that ended is started again for the next call, but with a pause between starts", async (context) => {
  const file = join(await temporaryFolder(context), "starts");
  let now = 1_000_000;
  const server = hostile("counts-starts", { args: [file], timeMs: 20_000 });
  const world = mcpWorld(context, [server], { now: () => now });
  const hasEnded = (): boolean => world.mcp.status()[0]?.state === "ended";
  const tool = await world.tool("counts-starts__ask");
  const call = async (): Promise<string> => (await world.call("counts-starts__ask")).output;
  assert.equal(await call(), "start 1");
  await until(hasEnded);
  assert.equal(
    await call(),
    'failed: the MCP server "counts-starts" ended with exit code 5; it can be started again in 15 s',
  );
  assert.deepEqual(world.mcp.warnings(), ['the MCP server "counts-starts" ended with exit code 5']);
  now += limits.mcpRestartMs;
  // A tool of the earlier list can also start it.
  const again = tool.run(
    {},
    {
      sessionId: "",
      turnId: "",
      callId: "",
      signal: context.signal,
      showOutput: () => undefined,
      readOutput: async () => null,
    },
  );
  assert.equal((await again).output, "start 2");
});

test("[P5] a server that hangs is noticed by the next call and started again", async (context) => {
  const world = mcpWorld(context, [hostile("hang", { timeMs: 200 })], { times: { answerMs: 100, restartMs: 0 } });
  assert.match((await world.call("hang__ask")).output, /gave no result within 0.2 s/);
  await until(() => world.mcp.status()[0]?.state === "ended");
  assert.equal(world.mcp.status()[0]?.failure, "no longer responds");
  assert.match((await world.call("hang__ask")).output, /gave no result within 0.2 s/);
});

test("[P5][E8] a server has the basic environment and its configured variables", async (context) => {
  const env = {
    PATH: process.env["PATH"],
    HOME: "/home/ada",
    OPENAI_API_KEY: "sk-of-the-provider",
    APTOVE_KEY: "k",
  };
  const world = mcpWorld(
    context,
    [hostile("environment", { env: { MODE: "test", API_TOKEN: "given-in-confidence" } })],
    { env },
  );
  const { output } = await world.call("environment__ask");
  const { PATH: _path, APTOVE_MCP_SERVER: _mark, ...seen } = JSON.parse(output) as Record<string, string>;
  assert.deepEqual(seen, { HOME: "/home/ada", MODE: "test", API_TOKEN: "***" });
});

test("[P5] closing ends servers with all their processes, even those that resist", async (context) => {
  const mcp = openMcpTools({
    servers: [hostile("children"), hostile("stubborn")],
    logFolder: null,
    env: process.env,
    version: "0",
  });
  context.after(() => mcp.close());
  const world = mcpWorld(context, [hostile("children")]);
  const { output: pid } = await world.call("children__ask");
  await mcp.tools();
  await Promise.all([mcp.close(), world.mcp.close()]);
  await until(() => !isRunning(pid));
  await mcp.close();
});

test(
  "[P5] closing ends a process that left its server's group",
  { skip: process.platform !== "linux" },
  async (context) => {
    const world = mcpWorld(context, [hostile("leaves-group")]);
    const { output: pid } = await world.call("leaves-group__ask");
    context.after(() => sendSignal(Number(pid), "SIGKILL"));
    await world.mcp.close();
    await until(() => !isRunning(pid));
  },
);

test(
  "[P5] a server that resists ends too if the process that started it is killed",
  { skip: process.platform === "win32" },
  async (context) => {
    const host = spawn(process.execPath, [hostMain, "stubborn"], { stdio: ["ignore", "pipe", "inherit"] });
    const [output] = (await once(host.stdout, "data")) as [Buffer];
    const pid = output.toString().trim();
    context.after(() => sendSignal(-Number(pid), "SIGKILL"));
    host.kill("SIGKILL");
    await until(() => !isRunning(pid));
  },
);

test("[P5] closing during a start and a call ends both", async (context) => {
  const starting = mcpWorld(context, [hostile("never-starts")]);
  await starting.mcp.close();
  assert.equal(starting.mcp.status()[0]?.state, "failed");
  const calling = mcpWorld(context, [hostile("cancel", patient)]);
  const closeIt = (): void => void calling.mcp.close();
  const call = calling.call("cancel__ask", {}, { showOutput: closeIt });
  assert.deepEqual(await call, { output: 'failed: the MCP server "cancel" was closed', isError: true });
});

test("[P5] each server has its own log, whatever its name", async (context) => {
  const logFolder = join(await temporaryFolder(context), "mcp");
  const servers = ["die-with-words", "../Up", "Files", "files"].map((name) => ({ ...hostile("die-with-words"), name }));
  const world = mcpWorld(context, servers, { logFolder });
  await world.call("die-with-words__ask");
  await world.mcp.close();
  const logs = await readdir(logFolder);
  assert.deepEqual(
    logs.toSorted().map((name) => name.replace(/-[0-9a-f]{8}\./, "-*.")),
    ["Files-*.log", "___Up-*.log", "die-with-words.log", "files.log"].toSorted(),
  );
  const text = await readFile(join(logFolder, "die-with-words.log"), "utf8");
  assert.match(text, /^\S+Z starting .*\n\S+Z ready: hostile die-with-words 1, MCP 2025-06-18, tools: 2, \d+ ms\n/);
  assert.match(
    text,
    /\ncannot open the database\n.*Z ended with exit code 4; the last line of its standard error: cannot open the database\n$/s,
  );
});

test("[P5] without a server the protocol's library is not loaded", async () => {
  const mcp = openMcpTools({ servers: [], logFolder: null, env: {}, version: "0" });
  assert.deepEqual([await mcp.tools(), mcp.warnings(), mcp.status()], [[], [], []]);
  await mcp.close();
});

const hostMain = fileURLToPath(new URL("../../../testing/children/mcp-host.ts", import.meta.url));

/** Returns true if a process runs. A process that ended but is not collected yet does not run. */
function isRunning(pid: string): boolean {
  try {
    process.kill(Number(pid), 0);
  } catch {
    return false;
  }
  return true;
}
