import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { childPath } from "../../../testing/children/path.ts";
import { toolWorld, type ToolWorld } from "../../../testing/tool-world.ts";
import { limits } from "../../domain/limits.ts";
import type { CommandRunner, ShellCommandRequest } from "../session-tools.ts";

/** A short grace time, so that tests of processes that resist ending are fast. */
const local = { graceMs: 100 };
const posix = process.platform === "win32" ? { skip: "there are no signals and groups" } : {};

async function written(world: ToolWorld, path: string): Promise<number> {
  for (;;) {
    const text = await world.get(path).catch(() => "");
    if (text.endsWith("\n")) return Number(text);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Returns true if a process runs. A dead process that is not collected yet does not run. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false;
  }
}

async function gone(pid: number): Promise<void> {
  while (runs(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("[P5] a command's output arrives in order, while it runs, with its exit code", posix, async (t) => {
  const world = await toolWorld(t, { local });
  const shown: string[] = [];
  const command = "echo one; echo two >&2; printf '\\033[31mthree\\033[0m\\n'; exit 3";
  const result = await world.call("run", { command }, { showOutput: (text) => void shown.push(text) });
  assert.deepEqual(result, { output: "one\ntwo\nthree\n(exit code 3)", isError: true });
  assert.equal(shown.join(""), "one\ntwo\n\u001b[31mthree\u001b[0m\n");
  assert.equal(await world.output("run", { command: "true" }), "(no output)");
  assert.match(await world.fault("run", { command: "kill -SEGV $$" }), /ended by SIGSEGV/);
  assert.match(await world.fault("run", { command: "no-such-command" }), /not found\n\(exit code 127\)/);
});

test("[P5] a command runs in the named folder with empty input", posix, async (t) => {
  const world = await toolWorld(t, { local });
  await world.put("sub/x.txt", "");
  assert.equal(await world.output("run", { command: "pwd; cat" }), world.folder);
  assert.equal(await world.output("run", { command: "ls", cwd: "sub" }), "x.txt");
  assert.match(await world.fault("run", { command: "ls", cwd: "sub/x.txt" }), /is a file; cwd must be a folder/);
  assert.match(await world.fault("run", { command: "ls", cwd: "sup" }), /sup does not exist; similar paths: sub/);
  assert.match(await world.fault("run", { command: "a\0b" }), /NUL/);
});

test("[P5] [E8] a command has no key in its environment", posix, async (t) => {
  const env = {
    ...process.env,
    OPENAI_API_KEY: "hidden-1",
    MY_LLM: "hidden-2",
    APTOVE_KEY: "hidden-3",
    PLAIN: "there",
  };
  const world = await toolWorld(t, { local: { ...local, env, secretNames: ["MY_LLM"] } });
  const output = await world.output("run", { command: "env; cat /proc/self/environ 2>/dev/null || true" });
  assert.ok(output.includes("PLAIN=there"));
  assert.doesNotMatch(output, /hidden-/);
});

test("[P5] [E8] a key that a command reads elsewhere is hidden in its output", posix, async (t) => {
  const secret = "key-0123456789-abcdef";
  const world = await toolWorld(t, { local: { ...local, secretValues: [secret] } });
  const shown: string[] = [];
  const command = "printf 'a key-0123456'; sleep 0.1; echo '789-abcdef b'";
  const { output } = await world.call("run", { command }, { showOutput: (text) => void shown.push(text) });
  assert.equal(output, "a *** b");
  assert.equal(shown.join(""), "a *** b\n");
});

test("[E8] a key is hidden in the output of a client's terminal too, where the environment has it", async (t) => {
  const secret = "key-0123456789-abcdef";
  const commands: CommandRunner = {
    run: ({ onOutput }) => {
      for (const piece of ["a key-0123", "456789-abcdef b"]) onOutput(piece);
      return Promise.resolve({ exitCode: 0, signal: null, output: `a ${secret} b`, isCut: false });
    },
  };
  const world = await toolWorld(t, { commands, local: { ...local, secretValues: [secret] } });
  const shown: string[] = [];
  const command = { command: "echo $OPENAI_API_KEY" };
  const { output } = await world.call("run", command, { showOutput: (text) => void shown.push(text) });
  assert.deepEqual([output, shown.join("")], ["a *** b", "a *** b"]);
});

test("[P5] a command that runs too long is ended, and its output is kept", posix, async (t) => {
  const world = await toolWorld(t, { local });
  const command = "trap '' TERM; echo started; while :; do sleep 0.05; done";
  const time = new AbortController();
  const timeout = t.mock.method(AbortSignal, "timeout", () => time.signal);
  const { output, isError } = await world.call("run", { command, timeout_ms: 100 }, { showOutput: () => time.abort() });
  assert.deepEqual(timeout.mock.calls[0]?.arguments, [100]);
  assert.match(output, /^started\n\(ended: it ran longer than 100 ms; timeout_ms may be up to 600000\)$/);
  assert.ok(isError);
  assert.match(await world.fault("run", { command, timeout_ms: 600_001 }), /from 1 to 600000/);
});

test("[P5] a command and all its processes end with its turn", posix, async (t) => {
  const world = await toolWorld(t, { local });
  const stop = new AbortController();
  const command = "trap '' TERM; (trap '' TERM; sleep 1000 & echo $! > child; wait) & wait";
  const call = world.call("run", { command }, { signal: stop.signal });
  const child = await written(world, "child");
  assert.ok(runs(child));
  stop.abort();
  const { output, isError } = await call;
  assert.deepEqual([output, isError], ["(interrupted)", true]);
  await gone(child);
  const late = world.call("run", { command: "echo begun > begun" }, { signal: AbortSignal.abort() });
  await assert.rejects(late, /abort/i);
  await assert.rejects(world.get("begun"), /ENOENT/);
});

test(
  "[P5] a child that stays in the background and holds the output is not waited for, and is ended",
  posix,
  async (t) => {
    const world = await toolWorld(t, { local });
    assert.equal(await world.output("run", { command: "sleep 1000 & echo $! > child; echo done" }), "done");
    await gone(await written(world, "child"));
  },
);

test(
  "[P5] a child that left the group is found by its mark, where the system tells environments",
  {
    skip: process.platform === "linux" ? false : "only Linux does",
  },
  async (t) => {
    const world = await toolWorld(t, { local });
    const command =
      "setsid sh -c 'echo $$ > child; exec sleep 1000' & until [ -s child ]; do sleep 0.01; done; echo done";
    assert.equal(await world.output("run", { command }), "done");
    await gone(await written(world, "child"));
  },
);

test("[P5] a command with too much output is ended, and the end of its output is kept", posix, async (t) => {
  const world = await toolWorld(t, { local: { ...local, floodBytesMax: 5 * 1_048_576 } });
  const { output, isError } = await world.call("run", { command: "echo begin; yes" });
  assert.equal(isError, true);
  assert.match(output, /^\(the beginning of the output was dropped\)\ny\n/);
  assert.match(output, /\n\(ended: it wrote more than 5 MiB\)\n\(ended by SIG\w+\)$/);
  assert.ok(output.length <= limits.commandOutputBytesMax + 200);
});

test("[P5] the end of a session ends its running commands", posix, async (t) => {
  const over = new AbortController();
  const world = await toolWorld(t, { local, until: over.signal });
  const call = world.call("run", { command: "echo $$ > pid; sleep 1000" });
  const pid = await written(world, "pid");
  over.abort();
  assert.equal((await call).output, "(interrupted)");
  await gone(pid);
});

test("[P5] a command ends if this program is killed", posix, async (t) => {
  const world = await toolWorld(t);
  const child = await programWithCommand(t, world, "trap '' TERM; echo $$ > pid; sleep 1000; sleep 1000");
  const pid = await written(world, "pid");
  assert.ok(runs(pid));
  child.kill("SIGKILL");
  await once(child, "exit");
  await gone(pid);
});

/** Starts another process that runs a command. */
async function programWithCommand(t: TestContext, world: ToolWorld, command: string) {
  const file = childPath("run-command.ts");
  const child = spawn(process.execPath, [file, world.folder, command], { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  return child;
}

test("[P4] a command needs permission and is shown unchanged", async (t) => {
  const world = await toolWorld(t, { local });
  const run = world.tools.find(({ definition }) => definition.name === "run");
  assert.equal(run?.needsApproval({ command: "ls" }), true);
  assert.equal(run?.needsApproval({}), false);
  const view = await world.view("run", { command: "npm test" });
  const locations = [{ path: world.folder }];
  const permission = { key: `run npm test in "${world.folder}"`, label: "npm test" };
  assert.deepEqual(view, { title: "Run npm test", kind: "execute", locations, content: [], permission });
  await world.put("sub/x", "");
  const many = await world.view("run", { command: "cd x\nrm -rf y", cwd: "sub" });
  assert.equal(many.title, "Run cd x … in sub");
  assert.deepEqual(many.content, [{ type: "text", text: "cd x\nrm -rf y" }]);
  const key = `run cd x\nrm -rf y in "${join(world.folder, "sub")}"`;
  assert.deepEqual(many.permission, { key, label: "cd x … in sub" });
});

test("[P4] nothing of a command is hidden from the person who allows it", async (t) => {
  const world = await toolWorld(t, { local });
  const hidden = `echo fine${" ".repeat(3_000)}; touch PWNED`;
  const { title, content } = await world.view("run", { command: hidden });
  assert.equal(title, "Run echo fine⟨3000 blanks⟩; touch PWNED");
  assert.deepEqual(content, [{ type: "text", text: "echo fine⟨3000 blanks⟩; touch PWNED" }]);
  // A client may cut the title, so a long command is in the content too.
  const long = `echo ${"a".repeat(200)} ; touch PWNED`;
  const shown = await world.view("run", { command: long });
  assert.ok(shown.title.length < 140 && shown.title.endsWith(" …"));
  assert.deepEqual(shown.content, [{ type: "text", text: long }]);
  const tricks = await world.view("run", { command: "a\u200b\u202e\u001b[2K\rb\u00a0" });
  assert.deepEqual(tricks.content, [{ type: "text", text: "a\\u200b\\u202e\\u001b[2K\\u000db\u00a0" }]);
  // A blank of Braille shows nothing, and many marks cover the letters around them. Usual marks stay.
  const marks = await world.view("run", { command: `a\u2800 e\u0301 x${"\u0336".repeat(5)}` });
  const codes = "\\u0336".repeat(5);
  assert.deepEqual(marks.content, [{ type: "text", text: `a\\u2800 e\u0301 x${codes}` }]);
});

test("[P4] if the client offers its terminals, commands run there", async (t) => {
  const asked: ShellCommandRequest[] = [];
  const run = async (request: ShellCommandRequest) => {
    asked.push(request);
    request.onOutput("from there");
    return { exitCode: null, signal: "SIGTERM", output: "from there", isCut: true };
  };
  const world = await toolWorld(t, { commands: { run } });
  const { output } = await world.call("run", { command: "ls" }, { callId: "call-7" });
  assert.equal(output, "(the beginning of the output was dropped)\nfrom there\n(ended by SIGTERM)");
  const { command, cwd, callId, outputBytesMax } = asked[0] ?? assert.fail();
  const expected = ["ls", world.folder, "call-7", limits.commandOutputBytesMax];
  assert.deepEqual([command, cwd, callId, outputBytesMax], expected);
});
