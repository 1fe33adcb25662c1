/** Both ways to run git give the same answers, and a shell is given nothing that it could read as its own. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path, { join } from "node:path";
import { text } from "node:stream/consumers";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import type { GitRan, GitRun } from "./git-call.ts";
import { runDirectly, runGitCall } from "./git-run.ts";
import { runByShell } from "./git-shells.ts";
import { silenceOf } from "./git-silence.ts";

const childProgram = fileURLToPath(new URL("../../../testing/children/ask-git.ts", import.meta.url));
const hasShell = process.platform === "linux";
const withShell = { skip: !hasShell };

async function repository(t: TestContext, name = "repository"): Promise<string> {
  const folder = join(await temporaryFolder(t), name);
  mkdirSync(folder);
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  return folder;
}

function callIn(cwd: string, args: readonly string[], more: Partial<GitRun> = {}): GitRun {
  return { args, cwd, root: cwd, env: process.env, outputBytesMax: 65_536, ...more };
}

async function byShell(run: GitRun): Promise<GitRan> {
  const ran = await runByShell(run);
  assert(ran !== null, "no shell has run git");
  return ran;
}

/** Puts a script in the place of git. Returns the PATH on which it is first. */
function fakeGit(folder: string, script: string): string {
  const programs = join(folder, `programs-${randomUUID()}`);
  mkdirSync(programs);
  writeFileSync(join(programs, "git"), `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return `${programs}:${process.env["PATH"]}`;
}

const outputOf = (ran: GitRan): string => (ran.outcome === "ended" ? ran.stdout : `${ran.outcome}`);

for (const [way, run] of [
  ["directly", runDirectly],
  ["by a shell", byShell],
] as const) {
  suite(`git that is run ${way}`, { skip: run === byShell && !hasShell }, () => {
    test("answers with its output, its errors and its exit code", async (t) => {
      const folder = await repository(t);
      const found = await run(callIn(folder, ["rev-parse", "--is-inside-work-tree"]));
      assert.deepEqual(found, { outcome: "ended", exit: 0, stdout: "true\n", stderr: "" });
      const failed = await run(callIn(folder, ["rev-parse", "--verify", "nothing"]));
      const stderr = "fatal: Needed a single revision\n";
      assert.deepEqual(failed, { outcome: "ended", exit: 128, stdout: "", stderr });
      assert.deepEqual(await run(callIn(folder, ["config", "--get", "no.such"])), {
        outcome: "ended",
        exit: 1,
        stdout: "",
        stderr: "",
      });
    });

    test("[P5] gets every argument, folder, variable and line of input as it is", async (t) => {
      const odd = `it's "$(touch made)" \`touch made\` $HOME \\ * ; ü\n\t#end`;
      const folder = await repository(t, odd);
      const top = await run(callIn(folder, ["rev-parse", "--show-toplevel"]));
      assert.equal(outputOf(top), `${folder}\n`);
      assert.equal(outputOf(await run(callIn(folder, ["rev-parse", "--sq-quote", odd]))).includes("made"), true);
      const env = { ...process.env, GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "odd.name", GIT_CONFIG_VALUE_0: odd };
      assert.equal(outputOf(await run(callIn(folder, ["config", "--get", "odd.name"], { env }))), `${odd}\n`);
      assert.equal(outputOf(await run(callIn(folder, ["config", "--get", "odd.name"]))), "");
      const names = ["'one'", "$two", "EOF", "three \\"];
      for (const name of names) writeFileSync(join(folder, name), name);
      const input = names.map((name) => `${name}\n`).join("");
      const hashes = outputOf(await run(callIn(folder, ["hash-object", "--stdin-paths"], { input })));
      const expected = execFileSync("git", ["hash-object", "--", ...names], { cwd: folder, encoding: "utf8" });
      assert.equal(hashes, expected);
      assert.deepEqual(readdirSync(folder).toSorted(), [".git", ...names].toSorted());
    });

    test("returns bytes that are no text, many of them, and a last line without an end", async (t) => {
      const folder = await repository(t);
      const long = "é".repeat(100_000);
      writeFileSync(join(folder, "long"), long);
      writeFileSync(join(folder, "bytes"), Buffer.from([0xff, 0x0a, 0x00, 0xe2, 0x82]));
      execFileSync("git", ["add", "."], { cwd: folder });
      const outputBytesMax = 200_000;
      assert.equal(outputOf(await run(callIn(folder, ["cat-file", "blob", ":long"], { outputBytesMax }))), long);
      assert.equal(outputOf(await run(callIn(folder, ["cat-file", "blob", ":bytes"]))), "\ufffd\n\0\ufffd");
      for (const less of [1, 36, 37, 100_000]) {
        const call = callIn(folder, ["cat-file", "blob", ":long"], { outputBytesMax: outputBytesMax - less });
        assert.equal((await run(call)).outcome, "stopped", `${less} bytes too many`);
      }
    });

    test("passes a long answer on piece by piece, until no more of it is wanted", async (t) => {
      const folder = await repository(t);
      const long = "é\n".repeat(400_000);
      writeFileSync(join(folder, "long"), long);
      execFileSync("git", ["add", "."], { cwd: folder });
      const call = callIn(folder, ["cat-file", "blob", ":long"], { outputBytesMax: 10 });
      const pieces: string[] = [];
      const ran = await run({ ...call, onText: (piece) => pieces.push(piece) > 0 });
      assert.deepEqual(ran, { outcome: "ended", exit: 0, stdout: "", stderr: "" });
      assert.equal(pieces.join(""), long);
      assert(pieces.length > 2, "the answer came in one piece");
      let taken = "";
      const stopped = await run({ ...call, onText: (piece) => ((taken += piece), false) });
      assert.deepEqual(stopped, { outcome: "stopped", reason: "no more of the answer was wanted" });
      assert(long.startsWith(taken) && taken.length < long.length, `${taken.length} characters were taken`);
      const failed = await run({ ...call, args: ["cat-file", "blob", "no-such"], onText: () => true });
      assert.equal(failed.outcome === "ended" && failed.exit, 128);
    });

    test("does not count what git writes beside a long answer", async (t) => {
      const folder = await repository(t);
      const PATH = fakeGit(folder, `head -c 300000 /dev/zero | tr '\\0' 'e' >&2\nprintf 'answer'`);
      let passed = "";
      const call = callIn(folder, ["anything"], { env: { ...process.env, PATH }, outputBytesMax: 10 });
      const ran = await run({ ...call, onText: (piece) => ((passed += piece), true) });
      assert.deepEqual([ran.outcome === "ended" && ran.exit, passed], [0, "answer"]);
    });

    test("ends when the question is withdrawn, before or after it has begun", async (t) => {
      const folder = await repository(t);
      execFileSync("mkfifo", [join(folder, "fifo")]);
      const waits = callIn(folder, ["hash-object", "fifo"]);
      assert.equal((await run({ ...waits, signal: AbortSignal.abort() })).outcome, "stopped");
      const withdrawn = new AbortController();
      const asked = run({ ...waits, signal: withdrawn.signal });
      withdrawn.abort();
      const ran = await asked;
      assert.match(ran.outcome === "stopped" ? ran.reason : ran.outcome, /withdrawn|aborted/);
      assert.equal(outputOf(await run(callIn(folder, ["rev-parse", "--is-inside-work-tree"]))), "true\n");
    });

    test("gives git the environment, the folder, the arguments and the input that it is to have", async (t) => {
      const folder = await repository(t);
      const shown = `env -0 | grep -zvE '^(PWD|OLDPWD|SHLVL|_)=' | sort -z | tr '\\0' '\\n'`;
      const PATH = fakeGit(folder, `${shown}\npwd -P\nprintf '%s\\n' "$@"\ncat`);
      const own = { code: "5", cd: "no", A_B: "it's\nodd \\", GIT_ODD: "$(touch made)\n", LC_ALL: "C" };
      const env = { ...process.env, ...own, PATH };
      for (let times = 0; times < 2; times += 1) {
        const ran = await run(callIn(folder, ["a b", "'", ""], { env, input: "one\ntwo\n" }));
        const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`);
        const others = lines.filter((line) => !/^(?:PWD|OLDPWD|SHLVL|_)=/.test(line));
        const expected = Buffer.concat(others.map((line) => Buffer.from(`${line}\n`)).toSorted(Buffer.compare));
        assert.equal(outputOf(ran), `${expected.toString()}${folder}\na b\n'\n\none\ntwo\n`);
      }
    });
  });
}

test("many questions at once get an answer each, although few shells are there", withShell, async (t) => {
  const folder = await repository(t);
  const numbers = Array.from({ length: 30 }, (_, at) => `${at}`);
  const asked = numbers.map((number) => runGitCall(callIn(folder, ["rev-parse", "--sq-quote", number])));
  assert.deepEqual(
    (await Promise.all(asked)).map(outputOf),
    numbers.map((number) => ` '${number}'\n`),
  );
  assert(shellsOfThisProcess().length > 0);
  // One that an earlier test stopped may not have ended yet.
  while (shellsOfThisProcess().length > 8) await setImmediate();
});

test("a shell without a question ends after a while", withShell, async (t) => {
  const folder = await repository(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  await runGitCall(callIn(folder, ["rev-parse", "--is-inside-work-tree"]));
  const before = shellsOfThisProcess().length;
  t.mock.timers.tick(30_000);
  while (shellsOfThisProcess().length >= before) await setImmediate();
});

test("[R5] a shell that is stopped is replaced, and is no fault of the repository", withShell, async (t) => {
  const folder = await repository(t);
  const question = callIn(folder, ["rev-parse", "--is-inside-work-tree"]);
  await runGitCall(question);
  for (const pid of shellsOfThisProcess()) process.kill(pid, "SIGSTOP");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = runGitCall(question);
  t.mock.timers.tick(5_000);
  assert.equal(outputOf(await asked), "true\n");
  assert.equal(silenceOf(folder), null);
});

test("[P5] questions do not wait for a repository that lets git hang", withShell, async (t) => {
  const folder = await repository(t);
  execFileSync("mkfifo", [join(folder, "fifo")]);
  const withdrawn = new AbortController();
  const hanging = Array.from({ length: 12 }, () =>
    runGitCall(callIn(folder, ["hash-object", "fifo"], { signal: withdrawn.signal })),
  );
  assert.equal(outputOf(await runGitCall(callIn(folder, ["rev-parse", "--is-inside-work-tree"]))), "true\n");
  withdrawn.abort();
  assert((await Promise.all(hanging)).every(({ outcome }) => outcome === "stopped"));
});

test("without git the answer is that it is missing, and a git that is there later is found", async (t) => {
  const folder = await repository(t);
  const env = { ...process.env, PATH: folder };
  assert.deepEqual(await runGitCall(callIn(folder, ["rev-parse", "HEAD"], { env })), { outcome: "missing" });
  assert.equal(outputOf(await runGitCall(callIn(folder, ["rev-parse", "--is-inside-work-tree"]))), "true\n");
});

test(
  "[P5] a shell answers only for a git that it has started, and gets no call that it cannot run as it is",
  withShell,
  async (t) => {
    const folder = await repository(t);
    const args = ["rev-parse", "--is-inside-work-tree"];
    const long = "x".repeat(100_000);
    for (const call of [
      callIn(join(folder, "nowhere"), args),
      callIn(folder, args, { env: { ...process.env, PATH: folder } }),
      callIn(folder, ["rev-parse", "\0"]),
      callIn(folder, ["rev-parse", long]),
      callIn(folder, ["hash-object", "--stdin-paths"], { input: `${long}\n` }),
      callIn(folder, ["hash-object", "--stdin-paths"], { input: "no end of line" }),
      callIn(folder, args, { env: { ...process.env, PATH: fakeGit(folder, "kill -9 $$") } }),
    ])
      assert.equal(await runByShell(call), null);
    const relative = callIn(path.relative(process.cwd(), folder), args);
    assert.equal(outputOf(await byShell(relative)), "true\n");
  },
);

test("what a process writes that git has left is in no other answer", withShell, async (t) => {
  const folder = await repository(t);
  execFileSync("mkfifo", [join(folder, "fifo")]);
  const late = `(read line <'${folder}/fifo'; echo late; echo late >&2) &\necho "answer $1"`;
  const env = { ...process.env, PATH: fakeGit(folder, late) };
  for (const number of ["1", "2", "3", "4"]) {
    assert.equal(outputOf(await runGitCall(callIn(folder, [number], { env }))), `answer ${number}\n`);
    writeFileSync(join(folder, "fifo"), "go\n");
    while (commandsOfAll().some((words) => words.some((word) => word.startsWith(folder)))) await setImmediate();
  }
});

test("a shell that was killed loses no question", withShell, async (t) => {
  const folder = await repository(t);
  const question = callIn(folder, ["rev-parse", "--is-inside-work-tree"]);
  await runGitCall(question);
  for (let kills = 0; kills < 5; kills += 1) {
    for (const pid of shellsOfThisProcess()) process.kill(pid, "SIGKILL");
    assert.equal(outputOf(await runGitCall(question)), "true\n");
  }
});

/** The ids of the shells that wait for a question. */
function shellsOfThisProcess(): number[] {
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return children.map(Number).filter((pid) => {
    try {
      const [, state = "", parent = ""] = /\) (\w) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return Number(parent) === process.pid && state !== "Z" && command === "/bin/sh\0";
    } catch {
      // It has ended meanwhile.
      return false;
    }
  });
}

function askInChild(what: string, folder: string) {
  const child = spawn(process.execPath, [childProgram, what, folder], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit") as Promise<[number | null]>;
  return { child, ended };
}

test("an answer that was passed on in part is not passed on again, if its shell is killed", withShell, async (t) => {
  const folder = await repository(t);
  // The last bytes may be the beginning of a mark, and are held back.
  const PATH = fakeGit(folder, `printf '%0.sfirst' 1 2 3 4 5 6 7 8 9 10\nsleep 100`);
  let passed = "";
  const onText = (piece: string): boolean => {
    passed += piece;
    for (const shell of shellsOfThisProcess()) process.kill(-shell, "SIGKILL");
    return true;
  };
  const ran = await runGitCall({ ...callIn(folder, ["anything"], { env: { ...process.env, PATH } }), onText });
  assert.deepEqual(ran, { outcome: "stopped", reason: "the answer of git was cut off" });
  assert.match(passed, /^(?:first){1,10}/);
  assert(passed.length <= 50, "a part was passed on twice");
});

test("a question keeps the process alive, and a shell that waits does not", async (t) => {
  const { child, ended } = askInChild("answer", await repository(t));
  const before = performance.now();
  assert.deepEqual(JSON.parse(await text(child.stdout)), { outcome: "ended", exit: 0, stdout: "true\n", stderr: "" });
  assert.deepEqual([(await ended)[0], performance.now() - before < 20_000], [0, true]);
});

test("a process without a free descriptor gets an error as its answer, and later the answer", withShell, async (t) => {
  const { child, ended } = askInChild("full", await repository(t));
  const answers = JSON.parse(await text(child.stdout)) as unknown;
  assert.deepEqual(answers, ["stopped", { outcome: "ended", exit: 0, stdout: "true\n", stderr: "" }]);
  assert.equal((await ended)[0], 0);
});

test("a git that hangs ends with the process that asked", withShell, async (t) => {
  const folder = await repository(t);
  const fifo = join(folder, "fifo");
  execFileSync("mkfifo", [fifo]);
  const { child, ended } = askInChild("exit", folder);
  const hangs = (): boolean => commandsOfAll().some((words) => words[0] === "git" && words.at(-2) === fifo);
  while (!hangs()) await setImmediate();
  child.stdin.end();
  assert.equal((await ended)[0], 0);
  while (hangs()) await setImmediate();
});

/** The words of all commands of this machine that can be read; the last one is empty. */
function commandsOfAll(): string[][] {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}
