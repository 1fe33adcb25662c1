import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { askGit, startGit, streamGit } from "./git.ts";

const answerBytesMax = 1_024;

async function repository(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  for (const name of ["a", "b", "c"]) writeFileSync(join(folder, name), name);
  execFileSync("git", ["add", "."], { cwd: folder });
  return folder;
}

test("git's answers and failures are data", async (t) => {
  const folder = await repository(t);
  const question = { folder, answerBytesMax };
  assert.deepEqual(await askGit({ ...question, args: ["ls-files"] }), { outcome: "answered", text: "a\nb\nc\n" });
  const refused = await askGit({ ...question, args: ["rev-parse", "--verify", "no-such-name"] });
  assert.deepEqual(refused, { outcome: "failed", reason: "fatal: Needed a single revision" });
  assert.equal((await askGit({ ...question, args: ["rev-parse", "\0"] })).outcome, "failed");
  assert.equal((await askGit({ folder, args: ["ls-files"], answerBytesMax: 2 })).outcome, "failed");
  assert.equal((await askGit({ ...question, args: ["ls-files"], signal: AbortSignal.abort() })).outcome, "failed");
});

test("git is not started for a folder without a repository", async (t) => {
  const folder = await temporaryFolder(t);
  const { PATH } = process.env;
  t.after(() => void (process.env["PATH"] = PATH));
  // A git that was started would be missing.
  process.env["PATH"] = folder;
  const answer = await askGit({ folder, args: ["rev-parse", "--show-toplevel"], answerBytesMax });
  assert.deepEqual(answer, { outcome: "failed", reason: "not a git repository" });
});

test("a long answer comes piece by piece, and ends git when enough was received", async (t) => {
  const folder = await repository(t);
  const { signal } = new AbortController();
  let text = "";
  const all = { folder, args: ["ls-files"], signal, onText: (piece: string) => ((text += piece), true) };
  assert.equal(await streamGit(all), true);
  assert.equal(text, "a\nb\nc\n");
  assert.equal(await streamGit({ ...all, onText: () => false }), true);
  assert.equal(await streamGit({ ...all, args: ["ls-tree", "no-such-name"] }), false);
});

test("a git process that keeps running answers its input, and its output ends with it", async (t) => {
  const child = await startGit(await repository(t), ["cat-file", "--batch-check"]);
  assert(child !== null);
  const pieces = child.stdout.setEncoding("utf8")[Symbol.asyncIterator]() as AsyncIterator<string>;
  child.stdin.write(":a\n");
  assert.match((await pieces.next()).value as string, / blob 1\n$/);
  child.kill("SIGKILL");
  assert.equal((await pieces.next()).done, true);
});

test("[P5] a command of git that could run programs is a bug of ours", async (t) => {
  const folder = await repository(t);
  for (const args of [["diff", "HEAD"], ["status"], ["ls-files", "--modified"], ["cat-file", "--textconv", "HEAD:a"]]) {
    await assert.rejects(askGit({ folder, args, answerBytesMax }), assert.AssertionError, args.join(" "));
  }
});
