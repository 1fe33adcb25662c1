import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import type { WireSession } from "../../../client/client.ts";

async function indexed(t: TestContext): Promise<CliWorld> {
  const world = await cliWorld(t);
  await world.run(["index"]);
  return world;
}

async function sessions(world: CliWorld): Promise<WireSession[]> {
  const { stdout } = await world.run(["session", "list", "--json"]);
  return (JSON.parse(stdout) as { sessions: WireSession[] }).sessions;
}

test("[L2] piped lines are turns of one session; empty ones are nothing", async (t) => {
  const world = await indexed(t);
  const { exit, stdout } = await world.run(["chat"], { stdin: "how is a user greeted?\n\nand why?" });
  assert.equal(exit, 0);
  assert.equal(stdout.match(/This is aptove's built-in offline model/g)?.length, 2);
  assert.deepEqual(
    (await sessions(world)).map((session) => [session.name, session.turnCount]),
    [["how is a user greeted?", 2]],
  );
});

test("[L2] /clear starts a new session, /session and /context tell, /quit leaves", async (t) => {
  const world = await indexed(t);
  const stdin = "/session\n/context\ngreet\n/session\n/context\n/clear\nonce more\n/quit\nnever sent\n";
  const { exit, stdout, stderr } = await world.run(["chat"], { stdin });
  assert.equal(exit, 0);
  assert.match(stderr, /^no session yet.*\nthere is no turn yet\n/);
  assert.match(stdout, /repository +copy/);
  assert.match(stdout, /turn 1 .*\n.*completed[^]*retrieved\n +sent +src\/greet.ts:1-3/);
  assert.match(stderr, /the next line starts a new session/);
  assert.deepEqual(
    (await sessions(world)).map((session) => session.name),
    ["once more", "greet"],
  );
});

test("[L2] /help lists every command; an unknown command is reported", async (t) => {
  const world = await indexed(t);
  const { stderr } = await world.run(["chat"], { stdin: "/help\n/frob\n" });
  const named = ["/context", "/session", "/fork", "/rerun", "/diff", "/model", "/steer", "/clear", "/help", "/quit"];
  for (const command of [...named, "Ctrl-C"]) {
    assert.ok(stderr.includes(command), command);
  }
  assert.match(stderr, /there is no command \/frob/);
});

test("[L2] a refused line is reported and the chat continues; in a pipe, the exit code is that of the last line", async (t) => {
  const world = await indexed(t);
  const failed = await world.run(["chat", "--context", "none"], { stdin: "a\nb\n" });
  assert.equal(failed.exit, 1);
  assert.equal(failed.stderr.match(/\(context_unknown\)/g)?.length, 2);
});

test("[G2] [L2] an unknown mode is refused where it is named, with those that there are: by --mode, /mode and acp", async (t) => {
  const world = await indexed(t);
  const config = `[conversation_contexts.default.modes.sing]\n[conversation_contexts.other.modes.hum]\n`;
  await writeFile(join(world.dataDir, "config.toml"), config);
  const known = /there is no mode "snig"; known modes: "ask", "edit", "sing"/;
  for (const command of ["chat", "acp"]) {
    const { exit, stdout, stderr } = await world.run([command, "--mode", "snig"], { stdin: "a\n" });
    assert.deepEqual([exit, stdout], [1, ""]);
    assert.match(stderr, known);
    assert.match(stderr, /mode_unknown/);
  }
  const { stderr } = await world.run(["chat", "--mode", "sing"], { stdin: "/mode snig\na\n/mode\n/mode edit\n" });
  assert.match(stderr, known);
  assert.match(stderr, /mode sing\n.*mode edit/s);
  const other = await world.run(["chat", "--context", "other", "--mode", "hum"], { stdin: "a\n" });
  assert.equal(other.exit, 0);

  const record = ["context", "set", "conversation", "default", "--file", "record.toml"];
  await world.write("record.toml", "[modes.whisper]\n");
  assert.equal((await world.run(record)).exit, 0);
  for (const command of ["chat", "acp"]) {
    const { exit, stderr: problem } = await world.run([command, "--mode", "whisper"], { stdin: "" });
    assert.equal(exit, 0, problem);
  }
});

test("[L2] --continue continues the newest session of the repository", async (t) => {
  const world = await indexed(t);
  await world.run(["ask", "first"]);
  await world.run(["chat", "--continue"], { stdin: "second\n" });
  assert.deepEqual(
    (await sessions(world)).map((session) => session.turnCount),
    [2],
  );
});

test("[L2] [T10] Ctrl-C stops the running turn, and the chat continues", async (t) => {
  const world = await indexed(t);
  const chat = world.start(["chat"], { env: { APTOVE_OFFLINE_DELAY_MS: "40" } });
  chat.input.write("how is a user greeted?\n");
  await chat.saw("built-in");
  chat.signals.emit("SIGINT");
  await chat.saw("· interrupted");
  chat.input.end("/session\n");
  const { exit, stdout } = await chat.finished;
  assert.equal(exit, 0);
  assert.match(stdout, /turns +1, the last interrupted/);
});

test("[L2] Ctrl-C twice leaves, with 130", async (t) => {
  const world = await indexed(t);
  const chat = world.start(["chat"]);
  chat.input.write("/help\n");
  await chat.saw("/quit");
  chat.signals.emit("SIGINT");
  await chat.saw("Ctrl-C again leaves");
  chat.signals.emit("SIGINT");
  assert.equal((await chat.finished).exit, 130);
  assert.equal(chat.signals.listenerCount("SIGINT"), 0);
});

test("[L2] a line between two Ctrl-C takes the first one back", async (t) => {
  const world = await indexed(t);
  const chat = world.start(["chat"]);
  chat.input.write("/help\n");
  await chat.saw("/quit");
  chat.signals.emit("SIGINT");
  await chat.saw("Ctrl-C again leaves");
  chat.input.write("/session\n");
  await chat.saw("no session yet");
  chat.signals.emit("SIGINT");
  chat.input.end("/quit\n");
  assert.equal((await chat.finished).exit, 0);
});

test("[L2] a chat whose server stops prints a note and continues without it", async (t) => {
  const world = await indexed(t);
  const server = world.start(["serve", "--port", "0"]);
  await server.saw("http://127.0.0.1:");
  const chat = world.start(["chat"]);
  chat.input.write("greet\n");
  await chat.saw("— session");
  server.signals.emit("SIGTERM");
  assert.equal((await server.finished).exit, 0);
  chat.input.write("greet again\n");
  await chat.saw("the server has stopped; the chat continues without it");
  chat.input.end("greet once more\n");
  assert.equal((await chat.finished).exit, 0);
  assert.deepEqual(
    (await sessions(world)).map((session) => session.turnCount),
    [2],
  );
});

test("[L2] on a terminal it greets and prompts", async (t) => {
  const world = await indexed(t);
  const chat = world.start(["chat"], { isTerminal: true, env: { TERM: "xterm", NO_COLOR: "1" } });
  await chat.saw("/help lists the commands");
  await chat.saw("› ");
  chat.input.end("/quit\n");
  assert.equal((await chat.finished).exit, 0);
});

test("[L1] [L2] a chat whose last line was a wrong use ends with the exit code of ask", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  for (const argv of [
    ["ask", "-f", "nope", "hi"],
    ["chat", "-f", "nope", "hi"],
  ]) {
    const { exit, stderr } = await world.run(argv, { stdin: "" });
    assert.equal(exit, 2, stderr);
    assert.match(stderr, /--file nope: .* \(usage\)/);
  }
});
