/** A chat on a terminal: lines while a turn runs, calls that wait for a word, and the commands of the tree. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld, type LiveCli } from "../../../../testing/cli.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import type { WireSession, WireTurn } from "../../../client/client.ts";
import { scriptedProvider, type Script } from "../../../providers/scripted/scripted.ts";
import type { Tool } from "../../../tools/tool.ts";

const launches: Tool = {
  definition: { name: "launch", parameters: { type: "object" } },
  needsApproval: () => true,
  run: async (args) => ({ output: `launched ${JSON.stringify(args)}\nand more`, isError: false }),
};

async function scripted(t: TestContext, script: Script): Promise<CliWorld> {
  const providers = [scriptedProvider({ name: "offline", script })];
  const world = await cliWorld(t, { providers, tools: [launches] });
  await world.run(["index"]);
  return world;
}

interface LiveChat extends LiveCli {
  type(line: string): void;
  /** What a person sees, and has seen. */
  screen(): Promise<string>;
}

function chatting(world: CliWorld, ...argv: string[]): LiveChat {
  const terminal = new TestTerminal({ columns: 80, rows: 30 });
  const chat = world.start(["chat", ...argv], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  return { ...chat, type: (line) => void chat.input.write(`${line}\r`), screen: () => terminal.text() };
}

async function turns(world: CliWorld, id = "last"): Promise<WireTurn[]> {
  const { stdout, stderr } = await world.run(["session", "log", id, "--json"]);
  assert.equal(stderr, "");
  return (JSON.parse(stdout) as { turns: WireTurn[] }).turns.toReversed();
}

/** Calls the tool if the instruction is to launch, and answers with the result. */
const launcher: Script = (call) => {
  const last = call.items.at(-1);
  if (last?.type === "tool_result") return `result: ${last.output.split("\n")[0]}`;
  return JSON.stringify(last).includes("launch") ? [{ calls: "launch", with: { at: 1 } }] : "ok";
};

test("[V5] [L2] a call that needs approval is asked about at once; yes runs it, folded", async (t) => {
  const world = await scripted(t, launcher);
  const chat = chatting(world);
  chat.type("launch it");
  await chat.saw("allow? [y/N]");
  chat.type("y");
  await chat.saw("result: launched");
  chat.type("/details");
  await chat.saw("and more");
  chat.type("/quit");
  assert.equal((await chat.finished).exit, 0);
  assert.match(await chat.screen(), /^✓ launch {"at":1} · \d+ ms · 2 lines$/m);
  assert.deepEqual(
    (await turns(world)).map(({ status }) => status),
    ["awaiting_tool_results", "completed"],
  );
});

test("[V5] [T9] [L2] anything but yes denies the call and may say why; Ctrl-C leaves it waiting, and a later chat asks again", async (t) => {
  const world = await scripted(t, launcher);
  const first = chatting(world);
  first.type("launch it");
  await first.saw("[y/N]");
  first.input.write("\u0003");
  await first.saw("the call waits until");
  first.type("/quit");
  assert.equal((await first.finished).exit, 0);
  const second = chatting(world, "--continue");
  await second.saw("allow? [y/N]");
  second.type("not today");
  await second.saw("result: denied: not today");
  second.type("/quit");
  assert.equal((await second.finished).exit, 0);
  assert.doesNotMatch(await second.screen(), /launched/);
  assert.equal((await turns(world)).length, 2);
});

test("[V5] [L1] ask says how a waiting call is answered; piped, a chat asks nothing", async (t) => {
  const world = await scripted(t, launcher);
  const asked = await world.run(["ask", "launch it"]);
  // A script must not take it for an answer.
  assert.deepEqual([asked.exit, asked.stdout], [1, ""]);
  assert.match(
    asked.stderr,
    /launch {"at":1} waits for approval \(call .*\)[^]*allow or deny it: aptove chat -s [0-9a-f]{8}/,
  );
  const piped = await world.run(["chat"], { stdin: "launch it\n" });
  assert.equal(piped.exit, 1);
  assert.match(piped.stderr, /not answered; the call waits until/);
  assert.doesNotMatch(piped.stdout + piped.stderr, /allow\?|y: yes/);
});

test("[V4] [L2] a line that is typed while a turn runs steers it; typed too late, it is the next instruction", async (t) => {
  const gate = Promise.withResolvers<void>();
  const world = await scripted(t, (call) => {
    const text = JSON.stringify(call.items.at(-1));
    if (text.includes("slowly")) return [{ says: ["slowly begins", gate.promise, " slowly ends"] }];
    return `received ${/aside|later/.exec(text)?.[0]}`;
  });
  const chat = chatting(world);
  chat.type("slowly");
  await chat.saw("slowly begins");
  chat.type("an aside");
  chat.type("/steer a second aside");
  await chat.saw("sent: a second aside");
  // A command waits for the end of the turn.
  chat.type("/session");
  gate.resolve();
  await chat.saw("repository");
  chat.type("later");
  await chat.saw("received later");
  chat.type("/quit");
  await chat.finished;
  const screen = await chat.screen();
  assert.match(screen, /^steered: an aside$/m);
  assert.match(screen, /^steered: a second aside$/m);
  assert.deepEqual(
    (await turns(world)).map(({ instructionSummary }) => instructionSummary),
    ["slowly", "later"],
  );
});

test("[L2] [T6] /fork continues in another session, below the last turn or a numbered one", async (t) => {
  const world = await scripted(t, () => "ok");
  const stdin = "one\ntwo\n/fork 1\nthree\n/fork\nfour\n/fork 7\n/fork x\n";
  const { stderr } = await world.run(["chat"], { stdin });
  assert.equal(stderr.match(/the chat continues in session [0-9a-f]{8}, a fork of turn/g)?.length, 2);
  assert.match(stderr, /has no turn 7 \(not_found\)/);
  assert.match(stderr, /"x" is not the number of a turn \(usage\)/);
  const listed = JSON.parse((await world.run(["session", "list", "--json"])).stdout) as { sessions: WireSession[] };
  const [four, three, one] = listed.sessions;
  assert.deepEqual([four?.turnCount, three?.turnCount, one?.turnCount], [1, 1, 2]);
  const [first] = await turns(world, one?.id);
  const [third] = await turns(world, three?.id);
  const [fourth] = await turns(world, four?.id);
  assert.deepEqual([third?.parentId, fourth?.parentId], [first?.id, third?.id]);
});

test("[L2] [T7] /rerun after /fork stays out of the session that was forked", async (t) => {
  const world = await scripted(t, () => "ok");
  const { stderr } = await world.run(["chat"], { stdin: "one\ntwo\n/fork\n/rerun\nthree\n" });
  assert.match(
    stderr,
    /the fork \w{8} is deleted: it had no turn of its own[^]*^the chat continues in session \w{8}$/m,
  );
  const listed = JSON.parse((await world.run(["session", "list", "--json"])).stdout) as { sessions: WireSession[] };
  assert.deepEqual(
    listed.sessions.map(({ turnCount }) => turnCount),
    [2, 2],
  );
  const [rerun, three] = await turns(world, listed.sessions[0]?.id);
  const [one, two] = await turns(world, listed.sessions[1]?.id);
  assert.deepEqual([rerun?.rerunOf, rerun?.parentId, three?.parentId], [two?.id, one?.id, rerun?.id]);
  assert.equal(three?.instructionSummary, "three");
});

test("[L2] [T7] [X1] /rerun sends the files that the line named, as they are now", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  for (const stdin of ["explain @src/greet.ts\n/rerun\n", "explain @src/greet.ts\n/fork\n/rerun\n"]) {
    await world.run(["chat"], { stdin });
    const { stdout } = await world.run(["session", "show", "--json"]);
    const { turn } = JSON.parse(stdout) as { turn: WireTurn };
    assert.notEqual(turn.rerunOf, null);
    assert.deepEqual(
      turn.manifest.activeFiles.map(({ path }) => path),
      ["src/greet.ts"],
    );
  }
});

test("[L2] [T7] [T12] [X1] /rerun after two /undo sends the files of the turn that it repeats", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["chat"], { stdin: "one\ntwo @README.md\nthree @src/greet.ts\n/undo\n/undo\n/rerun\n" });
  const { turn } = JSON.parse((await world.run(["session", "show", "--json"])).stdout) as { turn: WireTurn };
  assert.match(turn.instructionSummary, /^two/);
  assert.notEqual(turn.rerunOf, null);
  assert.deepEqual(
    turn.manifest.activeFiles.map(({ path }) => path),
    ["README.md"],
  );
});

test("[L2] [T7] [D1] /rerun repeats the last turn, and /diff compares it with the old one", async (t) => {
  let answers = 0;
  const world = await scripted(t, () => `answer ${(answers += 1)}`);
  const stdin = "/rerun\n/diff\none\n/rerun\n/diff\n/rerun another\n/diff 1 3\n/diff 1\n";
  const { stdout, stderr } = await world.run(["chat"], { stdin });
  assert.match(stderr, /^there is no turn yet\nthere are no two turns to compare yet\n/);
  assert.match(stdout, /^answer 1\nanswer 2\n- turn [0-9a-f]{8}, 1 of [^]*\n-answer 1\n\+answer 2\n/);
  assert.match(stdout, /\n-one\n\+another\n/);
  assert.match(stderr, /give two turns, or none \(usage\)/);
  const [first, second, third] = await turns(world);
  assert.deepEqual([second?.rerunOf, third?.rerunOf], [first?.id, second?.id]);
});

test("[L2] [C5] /model calls another model from now on", async (t) => {
  const world = await scripted(t, () => "ok");
  const { stderr } = await world.run(["chat"], { stdin: "/model big\none\n/model\n/model -\ntwo\n" });
  assert.match(stderr, /uses the model big\n[^]*uses the model big;.*\nuses the configured model\n/);
  const models = (await turns(world)).map(({ model }) => model);
  assert.equal(models[0], "big");
  assert.notEqual(models[1], "big");
});

test("[S9] [L2] /model sets the model of the session: the next chat and `ask` use it, and a rerun in the chat too", async (t) => {
  const world = await scripted(t, () => "ok");
  await world.run(["chat"], { stdin: "one\n/model big\n/rerun\n" });
  await world.run(["chat", "--continue"], { stdin: "two\n" });
  await world.run(["ask", "--continue", "three"]);
  await world.run(["ask", "--continue", "--model", "once", "four"]);
  const { stderr } = await world.run(["chat", "--continue"], { stdin: "/model\nfive\n" });
  assert.match(stderr, /^uses the model big;/m);
  const models = async () => (await turns(world)).map(({ model }) => model);
  assert.deepEqual((await models()).slice(1), ["big", "big", "big", "once", "big"]);
  await world.run(["chat", "--continue"], { stdin: "/clear\nin a new session\n" });
  assert.deepEqual(await models(), ["big"]);
});

test("[S9] [G2] [L2] /model with a context chooses it for the session, and counts over the context of the command line", async (t) => {
  const world = await scripted(t, () => "ok");
  await world.run(["context", "set", "conversation", "brief", "--model", "small"]);
  await world.run(["context", "set", "conversation", "long", "--model", "wide"]);
  const first = await world.run(["chat"], { stdin: "one\n/model big\n/model context:brief\ntwo\n" });
  assert.match(first.stderr, /uses the model context:brief/);
  await world.run(["chat", "--continue", "--context", "long"], { stdin: "three\n/model big\nfour\n" });
  const models = (await turns(world)).map(({ model }) => model);
  assert.deepEqual(models.slice(1), ["small", "wide", "big"]);
});

test("[T9] [L2] a call of a client's tool is explained, and the next line continues without its result", async (t) => {
  const world = await scripted(t, (call) => {
    const isFirst = !call.items.some(({ type }) => type === "tool_call");
    return isFirst ? [{ calls: "theirs", with: {} }] : "went on";
  });
  writeFileSync(
    join(world.dataDir, "config.toml"),
    '[[conversation_contexts.default.tools]]\nname = "theirs"\nparameters = { type = "object" }\n',
  );
  const { stdout, stderr } = await world.run(["chat"], { stdin: "call it\ngo on\n" });
  assert.match(stderr, /theirs {} waits for its result \(call .*\)[^]*a tool of the client: send its result/);
  assert.equal(stdout, "went on\n");
});

test("[T5] [L2] while a turn runs in another program, a chat asks what to do with the line; a pipe gets a fix that it has", async (t) => {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const world = await scripted(t, (call) => {
    const text = JSON.stringify(call.items.at(-1));
    if (!text.includes("slowly")) return text.includes("zebra") ? "black and white" : "ok";
    begun.resolve();
    return [{ says: ["slowly begins", gate.promise, " slowly ends"] }];
  });
  t.after(() => gate.resolve());
  await world.run(["ask", "first"]);
  const running = world.start(["ask", "-c", "slowly"]);
  await begun.promise;
  const piped = await world.run(["chat", "--continue"], { stdin: "now\n" });
  assert.equal(piped.exit, 1);
  assert.match(piped.stderr, /\(session_busy\)\nfix: wait for its end, or stop it: aptove session interrupt\n/);
  const chat = chatting(world, "--continue");
  chat.type("dropped");
  await chat.saw("runs in another program");
  chat.type("n");
  await chat.saw("fix: wait for its end");
  chat.type("zebra");
  await chat.saw("runs in another program", 2);
  chat.type("w");
  gate.resolve();
  await chat.saw("black and white");
  chat.type("/quit");
  assert.equal((await chat.finished).exit, 0);
  assert.equal((await running.finished).exit, 0);
  assert.deepEqual(
    (await turns(world)).map(({ instructionSummary }) => instructionSummary),
    ["first", "slowly", "zebra"],
  );
});
