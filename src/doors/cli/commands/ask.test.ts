import assert from "node:assert/strict";
import { symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test, type TestContext } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import type { ExecuteAnswer, WireSession, WireTurn } from "../../../client/client.ts";
import type { Tool } from "../../../tools/tool.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

async function indexed(t: TestContext): Promise<CliWorld> {
  const world = await cliWorld(t);
  assert.equal((await world.run(["index"])).exit, 0);
  return world;
}

async function lastTurn(world: CliWorld): Promise<WireTurn> {
  const shown = await world.run(["session", "show", "--json"]);
  return (JSON.parse(shown.stdout) as { turn: WireTurn }).turn;
}

/** Path of each active file of a turn, with whether it was sent. */
function filesOf(turn: WireTurn): Record<string, boolean> {
  return Object.fromEntries(turn.manifest.activeFiles.map((file) => [file.path, file.wasSentToLLM]));
}

test("[L1] [L3] ask: the answer alone goes to standard output, everything about it to standard error", async (t) => {
  const world = await indexed(t);
  const { exit, stdout, stderr } = await world.run(["ask", "how", "is a user greeted?"]);
  assert.equal(exit, 0);
  assert.match(stdout, /^This is aptove's built-in offline model/);
  assert.match(stdout, /src\/greet.ts:1-3/);
  assert.match(
    stderr,
    /^retrieved 2 chunks, sent 2\n— session [0-9a-f]{8} · turn [0-9a-f]{8} · \d+ tokens · [\d.]+ m?s\n$/,
  );
  assert.equal((await lastTurn(world)).instructionSummary, "how is a user greeted?");
});

test("[L1] ask --max-steps limits the model calls of the turn", async (t) => {
  const tool: Tool = {
    definition: { name: "look", parameters: { type: "object" } },
    needsApproval: () => false,
    run: async () => ({ output: "more", isError: false }),
  };
  const providers = [scriptedProvider({ name: "offline", script: () => [{ calls: "look", with: {} }] })];
  const world = await cliWorld(t, { providers, tools: [tool] });
  await world.run(["index"]);
  await world.run(["ask", "--max-steps", "2", "look around"]);
  const { steps, manifest } = await lastTurn(world);
  assert.deepEqual([steps.length, manifest.settings], [2, { maxSteps: 2 }]);
  const refused = await world.run(["ask", "--max-steps", "0", "look"]);
  assert.equal(refused.exit, 2);
});

test("[G3] [F11] [L1] ask --max-output limits each answer, so that a call holds less of a budget", async (t) => {
  const world = await cliWorld(t, { providers: [scriptedProvider({ name: "offline" })] });
  await world.run(["index"]);
  const held = async (...more: string[]): Promise<number> => {
    const { stderr } = await world.run(["ask", "--new", "greet", ...more]);
    return Number(/could use up to ([\d,]+) tokens/.exec(stderr)?.[1]?.replaceAll(",", "") ?? assert.fail(stderr));
  };
  await world.run(["budget", "set", "person", "1", "--tokens"]);
  const [free, limited] = [await held(), await held("--max-output", "10")];
  assert.ok(free - limited > 10_000, `${free} and ${limited}`);
  await world.run(["budget", "set", "person", "1000000", "--tokens"]);
  assert.equal((await world.run(["ask", "--new", "greet", "--max-output", "10", "--max-steps", "3"])).exit, 0);
  assert.deepEqual((await lastTurn(world)).manifest.settings, { maxSteps: 3, maxOutputTokens: 10 });
});

test("[X1] what git says is modified is an active file, also when it is staged; other files are not", async (t) => {
  const world = await indexed(t);
  await world.write("src/greet.ts", "export const changed = 1;\n");
  await world.write("README.md", "# Staged\n");
  world.git("add", "README.md");
  await world.write("untracked.ts", "");
  await world.run(["ask", "what changed?"]);
  const turn = await lastTurn(world);
  assert.deepEqual(filesOf(turn), { "README.md": true, "src/greet.ts": true });
  assert.ok(turn.manifest.activeFiles.every((file) => file.isTouched));
});

test("[X1] --file names more files, relative to the current folder; --no-modified leaves out those of git", async (t) => {
  const world = await indexed(t);
  await world.write("src/greet.ts", "changed\n");
  await world.write("notes ü.txt", "a note\n");
  const cwd = join(world.copy, "src");
  const { exit } = await world.run(["ask", "-f", "../notes ü.txt", "--no-modified", "read it"], { cwd });
  assert.equal(exit, 0);
  const turn = await lastTurn(world);
  assert.deepEqual(filesOf(turn), { "notes ü.txt": true });
  assert.equal(turn.manifest.activeFiles[0]?.isTouched, false);
});

test("[X3] [X1] a follow-up sends a changed file again, and an unchanged one not", async (t) => {
  const world = await indexed(t);
  await world.write("src/greet.ts", "one\n");
  await world.write("README.md", "# One\n");
  await world.run(["ask", "first"]);
  await world.write("README.md", "# Two\n");
  await world.run(["ask", "--continue", "second"]);
  assert.deepEqual(filesOf(await lastTurn(world)), { "README.md": true, "src/greet.ts": false });
  const shown = await world.run(["session", "show"]);
  assert.match(shown.stdout, /not sent +src\/greet.ts +4 B +modified, unchanged since it was sent/);
  assert.match(shown.stdout, /sent +README.md +6 B +modified/);
});

test("[X1] [X2] a modified file that cannot be sent is named with the reason", async (t) => {
  const world = await indexed(t);
  await world.write("src/greet.ts", Uint8Array.of(0, 1, 2, 0xff));
  await world.write("README.md", "x".repeat(102_401));
  const { exit, stderr } = await world.run(["ask", "go"]);
  assert.equal(exit, 0);
  assert.match(stderr, /not sent: src\/greet.ts is not text/);
  const turn = await lastTurn(world);
  assert.deepEqual(
    turn.manifest.skippedFiles.map(({ path, reason }) => [path, reason]),
    [["README.md", "too_large"]],
  );
  assert.match((await world.run(["session", "show"])).stdout, /README.md +100.0 KB +larger than 100 KB/);
});

test("[X1] [E8] a modified file that may hold secrets is sent only if it is named", async (t) => {
  const world = await indexed(t);
  await world.write(".env", "A=1\n");
  world.git("add", ".env");
  world.git("commit", "-qm", "settings");
  await world.write(".env", "A=hunter2\n");
  const { exit, stderr } = await world.run(["ask", "read"]);
  assert.equal(exit, 0, stderr);
  assert.match(stderr, /not sent: \.env may hold secrets; to send it, name it with --file/);
  assert.deepEqual((await lastTurn(world)).manifest.activeFiles, []);
  await world.run(["ask", "--file", ".env", "read"]);
  assert.equal((await lastTurn(world)).manifest.activeFiles[0]?.path, ".env");
});

test("[L1] [Q3] --dry-run counts the chunks and the files that would be sent", async (t) => {
  const world = await indexed(t);
  const { stdout } = await world.run(["ask", "--dry-run", "--file", "README.md", "where is greet?"]);
  assert.match(stdout, /^ {2}context +\d+ +\d chunks?, 1 file$/m);
  await world.write("big.txt", "a word ".repeat(20_000));
  const files = ["--file", "README.md", "--file", "big.txt"];
  const more = await world.run(["ask", "--dry-run", ...files, "where is greet?"]);
  assert.equal(more.exit, 0);
  assert.match(more.stdout, /^ {2}context +\d+ +\d chunks?, 1 file$/m);
  assert.match(more.stderr, /big\.txt .* was not sent/);
});

test("[X1] [L1] a file is named with spaces, quotation marks, a dash at its beginning, or the signs of a pattern", async (t) => {
  const world = await indexed(t);
  const names = [
    "a  b .txt",
    `say "hi", it's.txt`,
    "-dash.txt",
    "--file.txt",
    "[x]*?.txt",
    "$HOME ~.txt",
    "e\u0301.txt",
  ];
  for (const name of names) await world.write(name, "a text\n");
  const { exit, stderr } = await world.run(["ask", ...names.flatMap((name) => ["--file", name]), "read"]);
  assert.equal(exit, 0, stderr);
  const { manifest } = await lastTurn(world);
  assert.deepEqual(manifest.activeFiles.map(({ path }) => path).toSorted(), names.toSorted());
});

test("[X5] [L1] a named file that cannot be sent is wrong use", async (t) => {
  const world = await indexed(t);
  writeFileSync(join(world.copy, "..", "outside.txt"), "secret");
  symlinkSync("../outside.txt", join(world.copy, "link.txt"));
  symlinkSync("..", join(world.copy, "out"));
  await world.write("binary.bin", Uint8Array.of(0, 255));
  for (const name of ["back\\slash.txt", "two\nlines.txt", "a:b.txt"]) await world.write(name, "x");
  const cases: [string, RegExp][] = [
    ["../outside.txt", /--file ..\/outside.txt is outside of/],
    ["/etc/passwd", /is outside of/],
    ["link.txt", /--file link.txt: is a symbolic link/],
    ["out/outside.txt", /--file out\/outside.txt: is behind a link out of the repository/],
    ["absent.txt", /--file absent.txt: does not exist/],
    ["binary.bin", /--file binary.bin: is not text/],
    ["src", /--file src: is not a file .*\nfix: name its files/],
    [".", /--file \.: is not a file .*\nfix: name its files/],
    ["", /--file has no path /],
    ["back\\slash.txt", /--file back\\slash\.txt: its path contains a backslash .*\nfix: rename the file: /],
    ["src\\greet.ts", /--file src\\greet\.ts: its path contains a backslash .*\nfix: write the path with forward/],
    ["two\nlines.txt", /--file "two\\nlines\.txt": its path contains a control character .*\nfix: rename the file: /],
    ["a:b.txt", /--file a:b\.txt: its path has a drive letter.*\nfix: rename the file: /],
    ["b\uFFFDd.txt", /--file b\uFFFDd\.txt: does not exist .*\nfix: rename the file: its name must be UTF-8/],
    ["*.nothing", /--file \*\.nothing: does not exist .*\nfix: name each file: a pattern/],
  ];
  for (const [file, expected] of cases) {
    const { exit, stderr, stdout } = await world.run(["ask", "--file", file, "read"]);
    assert.deepEqual([exit, stdout], [2, ""], stderr);
    assert.match(stderr, expected);
  }
  assert.match((await world.run(["session", "list"])).stderr, /there are no sessions yet/);
});

test("[L1] piped input is the instruction, or follows it", async (t) => {
  const world = await indexed(t);
  const instructionOf = async (argv: string[], stdin: string): Promise<string> => {
    const { exit, stderr } = await world.run(["ask", ...argv], { stdin });
    assert.equal(exit, 0, stderr);
    return (await lastTurn(world)).instructionSummary;
  };
  assert.equal(await instructionOf([], "from a pipe\n"), "from a pipe");
  assert.equal(await instructionOf(["-"], "from a pipe\n"), "from a pipe");
  assert.equal(await instructionOf(["review this"], "a\nb\n"), "review this\n\na\nb");
  assert.equal(await instructionOf(["alone"], ""), "alone");
});

test("[L1] no instruction is wrong use", async (t) => {
  const world = await indexed(t);
  for (const run of [world.run(["ask"]), world.run(["ask", ""]), world.run(["ask"], { stdin: " \n" })]) {
    const { exit, stderr } = await run;
    assert.equal(exit, 2);
    assert.match(stderr, /^error: there is no instruction \(usage\)\nfix: /);
  }
});

test("[L1] --json prints the whole answer as one value, --events each event as a line", async (t) => {
  const world = await indexed(t);
  const whole = await world.run(["ask", "--json", "greet"]);
  const answer = JSON.parse(whole.stdout) as ExecuteAnswer;
  assert.deepEqual([answer.kind, whole.exit, whole.stderr], ["answer", 0, ""]);
  const lines = (await world.run(["ask", "--events", "greet"])).stdout.trimEnd().split("\n");
  const events = lines.map((line) => JSON.parse(line) as { id: string; type: string });
  assert.equal(events[0]?.type, "RUN_STARTED");
  assert.equal(events.at(-1)?.type, "RUN_FINISHED");
  assert.ok(events.every((event, index) => event.id.endsWith(`:${index + 1}`)));
});

test("[L1] [G2] a refused turn is exit code 1 with one error, a fix and a code, and no stack", async (t) => {
  const world = await indexed(t);
  const { exit, stdout, stderr } = await world.run(["ask", "--mode", "sing", "la"]);
  assert.deepEqual([exit, stdout], [1, ""]);
  assert.match(stderr, /^error: .*sing.*ask.*edit.* \(mode_unknown\)\n/);
  assert.doesNotMatch(stderr, /\n {4}at /);
  const json = await world.run(["ask", "--json", "--mode", "sing", "la"]);
  assert.equal((JSON.parse(json.stdout) as { error: { code: string } }).error.code, "mode_unknown");
  const debug = await world.run(["ask", "--mode", "sing", "la"], { env: { APTOVE_DEBUG: "1" } });
  assert.match(debug.stderr, /\n {4}at /);
});

test("[L1] [C7] an answer that is not whole is printed, with a warning and exit code 1", async (t) => {
  const provider = scriptedProvider({
    name: "offline",
    script: () => [{ says: "The first half" }, { stops: "length" }],
  });
  const world = await cliWorld(t, { providers: [provider] });
  assert.equal((await world.run(["index"])).exit, 0);
  const { exit, stdout, stderr } = await world.run(["ask", "how?"]);
  assert.deepEqual([exit, stdout], [1, "The first half\n"]);
  assert.match(stderr, /warning: the answer is incomplete: the model reached its output limit \(answer_truncated\)/);
});

test("[L1] [Q5] a failed turn is exit code 1 and names the fix", async (t) => {
  const world = await cliWorld(t);
  const { exit, stderr } = await world.run(["ask", "--repo", "elsewhere", "anything"]);
  assert.equal(exit, 1);
  assert.match(
    stderr,
    /error: .*\(index_missing\)\nfix: index the repository first, at a server on its own machine: aptove index\n$/,
  );
});

test("[L1] information for the log of a server is not printed by a command", async (t) => {
  const world = await cliWorld(t);
  writeFileSync(join(world.dataDir, "config.toml"), '[log]\nformat = "json"\nlevel = "debug"\n');
  assert.doesNotMatch((await world.run(["ask", "greet"])).stderr, /^(?:aptove:|\{)/m);
});

test("[L1] [Q3] a repository that was never indexed is indexed by the first question, and only by it", async (t) => {
  const world = await cliWorld(t);
  const first = await world.run(["ask", "how is a user greeted?"]);
  assert.equal(first.exit, 0, first.stderr);
  assert.match(
    first.stderr,
    /^indexing .*copy, once\nindexed copy~[0-9a-f]{8} at [0-9a-f]{10}: 2 files, 2 chunks\nretrieved 2 chunks/,
  );
  assert.match((await world.run(["ask", "who greets by name?"])).stderr, /^retrieved /);
});

test("[L1] [L2] chat indexes the repository first too; --repo means an index that there is", async (t) => {
  const world = await cliWorld(t);
  const named = await world.run(["chat", "--repo", "elsewhere"], { stdin: "hello\n" });
  assert.match(named.stderr, /elsewhere is not indexed.*\(index_missing\)/);
  assert.doesNotMatch(named.stderr, /^indexing/);
  const { exit, stderr } = await world.run(["chat"], { stdin: "greet\nand again\n" });
  assert.equal(exit, 0, stderr);
  assert.equal(stderr.match(/^indexing /gm)?.length, 1);
});

test("[L1] [X1] in a repository whose git is missing no code is searched, and the reason is named once", async (t) => {
  const world = await cliWorld(t);
  const { PATH } = process.env;
  t.after(() => (process.env["PATH"] = PATH));
  process.env["PATH"] = world.copy;
  const { exit, stderr } = await world.run(["ask", "hello"]);
  process.env["PATH"] = PATH;
  assert.equal(exit, 0, stderr);
  assert.match(stderr, /^warning: git is not used here: git is not on the path; install it$/m);
  assert.match(stderr, /^no code is searched; name files with --file$/m);
});

test("[L1] [Q3] outside of a git repository no code is searched, and the session continues", async (t) => {
  const world = await cliWorld(t);
  const cwd = await temporaryFolder(t);
  writeFileSync(join(cwd, "notes.txt"), "buy milk\n");
  const first = await world.run(["ask", "-f", "notes.txt", "what is to do?"], { cwd });
  assert.equal(first.exit, 0, first.stderr);
  assert.match(first.stderr, /^not in a git repository, so no code is searched; name files with --file\n/);
  assert.equal((await world.run(["ask", "--continue", "and then?"], { cwd })).exit, 0);
  const shown = JSON.parse((await world.run(["session", "show", "--json"], { cwd })).stdout) as {
    session: WireSession;
    turn: WireTurn;
  };
  assert.equal(shown.session.repo, null);
  assert.equal(shown.session.workspaceId?.replace(/~[0-9a-f]{8}$/, ""), basename(cwd));
  assert.deepEqual([shown.turn.sequence, shown.turn.manifest.chunks], [2, []]);
});

test("[L1] a beginning of the eight characters that lists show is understood", async (t) => {
  const world = await indexed(t);
  const answer = JSON.parse((await world.run(["ask", "--json", "one"])).stdout) as ExecuteAnswer;
  const { exit, stdout } = await world.run(["session", "show", answer.sessionId.slice(-8, -3)]);
  assert.equal(exit, 0);
  assert.ok(stdout.includes(answer.sessionId));
});

test("[L1] --session takes an id, its end, its beginning where only one fits, and last", async (t) => {
  const world = await indexed(t);
  const ask = async (...argv: string[]) =>
    JSON.parse((await world.run(["ask", "--json", ...argv])).stdout) as ExecuteAnswer;
  const first = await ask("one");
  const second = await ask("two");
  assert.notEqual(first.sessionId, second.sessionId);
  for (const name of [first.sessionId, first.sessionId.slice(-8), first.sessionId.slice(-8).toUpperCase()]) {
    assert.equal((await ask("--session", name, "again")).sessionId, first.sessionId);
  }
  assert.equal((await ask("--session", "last", "again")).sessionId, first.sessionId);
  const unclear = await world.run(["ask", "--session", first.sessionId.slice(0, 4), "again"]);
  assert.equal(unclear.exit, 2);
  assert.match(unclear.stderr, /matches 2 sessions/);
  const missing = await world.run(["ask", "--session", "ffff0000", "again"]);
  assert.equal(missing.exit, 1);
  assert.match(missing.stderr, /there is no session "ffff0000" \(not_found\)/);
  const wrong = await world.run(["ask", "--session", "x", "again"]);
  assert.equal(wrong.exit, 2);
  const both = await world.run(["ask", "--session", "last", "--continue", "again"]);
  assert.match(both.stderr, /--session and --continue contradict each other/);
});

test("[L1] --continue without a session says how to start one", async (t) => {
  const world = await indexed(t);
  const { exit, stderr } = await world.run(["ask", "--continue", "x"]);
  assert.equal(exit, 1);
  assert.match(stderr, /there is no session about copy~[0-9a-f]{8} yet .*\nfix: start one/);
});

test("[L1] [T10] Ctrl-C interrupts the turn, keeps its output, and ends with 130", async (t) => {
  const world = await indexed(t);
  const call = world.start(["ask", "greet"], { env: { APTOVE_OFFLINE_DELAY_MS: "40" } });
  await call.saw("built-in");
  call.signals.emit("SIGINT");
  const { exit, stderr } = await call.finished;
  assert.equal(exit, 130);
  assert.match(stderr, /· interrupted\n$/);
  const turn = await lastTurn(world);
  assert.deepEqual([turn.status, turn.stopReason], ["completed", "interrupted"]);
  assert.match(turn.answerSummary ?? "", /^This is aptove's built-in/);
  assert.equal(call.signals.listenerCount("SIGINT"), 0);
});

test("[L1] a second Ctrl-C ends at once", async (t) => {
  const world = await indexed(t);
  // The command does not wait for its engine; what is left of the turn must end soon by itself, or it outlives the test.
  const call = world.start(["ask", "greet"], { env: { APTOVE_OFFLINE_DELAY_MS: "5" } });
  await call.saw("built-in");
  call.signals.emit("SIGINT");
  call.signals.emit("SIGINT");
  assert.equal((await call.finished).exit, 130);
});

test("[L1] on a terminal no text of others reaches the terminal's controls; a pipe gets it as it is", async (t) => {
  const world = await indexed(t);
  const evil = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202egnp.exe";
  await world.write("src/greet.ts", `greeting ${evil}\n`);
  const piped = await world.run(["ask", "greeting"]);
  assert.ok(piped.stdout.includes(evil));
  const terminal = new TestTerminal({ columns: 200, rows: 40 });
  await world.run(["ask", "greeting"], { terminal, env: { TERM: "xterm" } });
  assert.match(await terminal.text(), /greeting \u241b\]0;owned\u2407\u241b\[2J\\u009b31m\\u202egnp.exe/);
  const shown = await world.run(["ask", "greeting"], { isTerminal: true, env: { TERM: "dumb" } });
  assert.match(shown.stdout, /greeting \u241b\]0;owned\u2407\u241b\[2J\\u009b31m\\u202egnp.exe/);
  const unstyled = stripVTControlCharacters(shown.stdout);
  assert.doesNotMatch(unstyled, /[^\P{Cc}\n\t]|\u202e/u);
});

test("[L1] on a terminal an answer is set as Markdown; a pipe gets it byte for byte", async (t) => {
  const text = "# Why\n\nBecause **it** `is`:\n\n- one\n- two\n";
  const world = await cliWorld(t, { providers: [scriptedProvider({ name: "offline", script: () => text })] });
  await world.run(["index"]);
  assert.equal((await world.run(["ask", "why?"])).stdout, text);
  for (const columns of [80, 120]) {
    const terminal = new TestTerminal({ columns, rows: 40 });
    const { stdout } = await world.run(["ask", "why?"], { terminal, env: { TERM: "xterm" } });
    assert.match(await terminal.text(), /^# Why\n\nBecause it is:\n\n• one\n• two\n/m);
    assert.match(await terminal.text(), /^— session \w{8} · turn \w{8} · /m);
    assert.match(stdout, /\u001b\[1mit/);
  }
});

test("[X7] [L1] proposed changes are shown as differences on a terminal, and nothing is promised that apply refuses", async (t) => {
  const block = (find: string): string =>
    `Here:\n\n\`\`\`json\n${JSON.stringify({ files: [{ path: "src/greet.ts", operation: "patch", patches: [{ find, replace: "bye", limit: "once" }] }] }, null, 1)}\n\`\`\`\n\nDone.\n`;
  let find = "hello";
  const script = () => block(find);
  const world = await cliWorld(t, { providers: [scriptedProvider({ name: "offline", script })] });
  await world.run(["index"]);
  const asking = async (): Promise<string> => {
    const terminal = new TestTerminal({ columns: 80, rows: 40 });
    await world.run(["ask", "-m", "edit", "say bye"], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
    return await terminal.text();
  };
  const screen = await asking();
  assert.match(screen, /^Here:\n\nDone\.\n[^]*^-  return "hello " \+ name;\n\+  return "bye " \+ name;\n/m);
  assert.match(screen, /^1 file to change; write them with: aptove apply$/m);
  assert.doesNotMatch(screen, /"files"|```/);
  assert.ok((await world.run(["ask", "-m", "edit", "say bye"])).stdout.includes('"files"'));
  find = "nowhere";
  const refused = await asking();
  assert.match(refused, /warning: the proposed changes cannot be written here: src\/greet\.ts/);
  assert.doesNotMatch(refused, /aptove apply/);
  assert.equal((await world.run(["apply", "--yes"])).exit, 1);
});

test("[L1] colours only on a terminal, and not with NO_COLOR or --no-color", async (t) => {
  const world = await indexed(t);
  const hasColor = async (argv: string[], isTerminal: boolean, env: Record<string, string> = {}) => {
    const { stdout, stderr } = await world.run(argv, { isTerminal, env });
    return /\u001b\[[\d;]*m/.test(stdout + stderr);
  };
  assert.equal(await hasColor(["ask", "x"], true), true);
  assert.equal(await hasColor(["ask", "x"], false), false);
  assert.equal(await hasColor(["ask", "x"], true, { NO_COLOR: "1" }), false);
  assert.equal(await hasColor(["ask", "--no-color", "x"], true), false);
  assert.equal(await hasColor(["ask", "x"], true, { TERM: "dumb" }), false);
});

test("[I1] [L1] --attach gives files by path or name, --inline puts them into the context", async (t) => {
  const world = await indexed(t);
  await world.write("notes/log.txt", "it failed");
  const outside = join(world.dataDir, "outside.txt");
  writeFileSync(outside, "elsewhere");
  const argv = ["--json", "ask", "why?", "--attach", "notes/log.txt", "--attach", outside];
  for (const [more, mode] of [
    [[], "file"],
    [["--inline"], "inline"],
  ] as const) {
    const { exit, stderr } = await world.run([...argv, ...more]);
    assert.equal(exit, 0, stderr);
    assert.deepEqual(
      (await lastTurn(world)).input.map((part) => [part.type, part.name, part.mode]),
      [
        ["file", "notes/log.txt", mode],
        ["binary", "outside.txt", mode],
      ],
    );
  }
  assert.match((await world.run(["session", "show"])).stdout, /input\n +outside\.txt|input\n +notes\/log\.txt/);
  assert.match((await world.run(["ask", "x", "--attach", "gone.txt"])).stderr, /--attach gone\.txt: does not exist/);
  assert.match((await world.run(["ask", "x", "--inline"])).stderr, /--inline needs an attachment/);
  await world.write("fake.png", "text");
  assert.match((await world.run(["ask", "x", "--attach", "fake.png"])).stderr, /\(input_part_invalid\)/);
  const refused = await world.run(["--json", "ask", "x", "--attach", "http://127.0.0.1:9/"]);
  assert.match(refused.stdout + refused.stderr, /url_refused/);
});
