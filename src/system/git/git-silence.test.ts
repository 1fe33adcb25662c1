/** Repositories that would make git wait for ever. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { findWorkingCopy } from "../../working-copy/git.ts";
import { gitSilenceMsMax, silenceOf, watchSilence } from "./git-silence.ts";
import { askGit, streamGit } from "./git.ts";

const answerBytesMax = 1_024;
const withFifos = { skip: process.platform === "win32" };

async function repository(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  return folder;
}

/** A repository whose configuration includes a FIFO without a writer. */
async function waiting(t: TestContext): Promise<string> {
  const folder = await repository(t);
  execFileSync("git", ["config", "include.path", "../fifo"], { cwd: folder });
  execFileSync("mkfifo", [join(folder, "fifo")]);
  return folder;
}

/** Lets the time pass until the work has ended. The clock of the tests is the only one that a wait has. */
async function afterSilence<T>(t: TestContext, work: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const result = work.finally(() => ended.abort());
  while (!ended.signal.aborted) {
    t.mock.timers.tick(gitSilenceMsMax);
    await setImmediate();
  }
  return await result;
}

for (const args of [
  ["rev-parse", "HEAD"],
  ["diff-index", "HEAD"],
  ["hash-object", "--stdin-paths"],
]) {
  test(`[P5] a repository that lets git wait is refused: git ${args[0]}`, withFifos, async (t) => {
    const folder = await waiting(t);
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const answer = await afterSilence(t, askGit({ folder, args, answerBytesMax }));
    assert.equal(answer.outcome, "failed");
    // No clock passes here: it is not asked again.
    const again = await askGit({ folder, args: ["rev-parse", "HEAD"], answerBytesMax });
    assert.equal(again.outcome, "failed");
    const reason = again.outcome === "failed" ? again.reason : "";
    assert.match(reason, /^git did not answer within 30 s; check what \/.+\/\.git\/config includes, /);
  });
}

test("[P5] a working copy whose repository lets git wait is used without git, and says why", withFifos, async (t) => {
  const folder = await waiting(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const copy = await afterSilence(t, findWorkingCopy(folder));
  assert.deepEqual([copy.root, copy.hasGit], [folder, false]);
  assert.match(copy.refusal ?? "", /^git did not answer within 30 s; /);
});

test("[P5] a long answer that never begins ends too", withFifos, async (t) => {
  const folder = await repository(t);
  const index = join(folder, ".git/index");
  rmSync(index, { force: true });
  execFileSync("mkfifo", [index]);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { signal } = new AbortController();
  assert.equal(await afterSilence(t, streamGit({ folder, args: ["ls-files"], signal, onText: () => true })), false);
});

test("[P5] a process that was paused for too long reads what git has written meanwhile", async () => {
  let isStopped = false;
  const root = "/paused";
  const watch = watchSilence(root, () => (isStopped = true), 300);
  const paused = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(paused, 0, 0, 400);
  await setImmediate();
  watch.spoke();
  watch.end();
  assert.deepEqual([isStopped, silenceOf(root)], [false, null]);
});
