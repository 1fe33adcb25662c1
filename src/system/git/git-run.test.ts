/** Both ways to run git give the same answers, and a shell is given nothing that it could read as its own. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import type { GitRan, GitRun } from "./git-call.ts";
import { runDirectly, runGitCall } from "./git-run.ts";
import { runByShell } from "./git-shells.ts";

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

    test("ends when the question is withdrawn, before or after it has begun", async (t) => {
      const folder = await repository(t);
      execFileSync("mkfifo", [join(folder, "fifo")]);
      const waits = callIn(folder, ["hash-object", "fifo"]);
      assert.equal((await run({ ...waits, signal: AbortSignal.abort() })).outcome, "stopped");
      const withdrawn = new AbortController();
      const asked = run({ ...waits, signal: withdrawn.signal });
      withdrawn.abort();
      assert.equal((await asked).outcome, "stopped");
      assert.equal(outputOf(await run(callIn(folder, ["rev-parse", "--is-inside-work-tree"]))), "true\n");
    });

    test("is missing if there is no git, and is there afterwards", async (t) => {
      const folder = await repository(t);
      const env = { ...process.env, PATH: folder };
      assert.deepEqual(await run(callIn(folder, ["rev-parse", "HEAD"], { env })), { outcome: "missing" });
      assert.equal(outputOf(await run(callIn(folder, ["rev-parse", "--is-inside-work-tree"]))), "true\n");
    });
  });
}

test("many questions at once get an answer each, although few shells are there", async (t) => {
  const folder = await repository(t);
  const numbers = Array.from({ length: 30 }, (_, at) => `${at}`);
  const asked = numbers.map((number) => runGitCall(callIn(folder, ["rev-parse", "--sq-quote", number])));
  assert.deepEqual(
    (await Promise.all(asked)).map(outputOf),
    numbers.map((number) => ` '${number}'\n`),
  );
  const shells = shellsOfThisProcess().length;
  assert(shells <= 8, `${shells} shells`);
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

test("a shell gets no call that it cannot run as it is", withShell, async (t) => {
  const folder = await repository(t);
  assert.equal(await runByShell(callIn(folder, ["rev-parse", "\0"])), null);
  const env = { ...process.env, "A-B": "1" };
  await runByShell(callIn(folder, ["rev-parse", "HEAD"]));
  assert.equal(await runByShell(callIn(folder, ["rev-parse", "HEAD"], { env })), null);
  assert.equal(outputOf(await runGitCall(callIn(folder, ["rev-parse", "--is-inside-work-tree"], { env }))), "true\n");
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
