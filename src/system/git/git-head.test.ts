import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { checkedOut } from "./git-head.ts";

async function repository(t: TestContext) {
  const root = await realpath(await temporaryFolder(t));
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: root, encoding: "utf8" }).trim();
  git("init", "--quiet", "--initial-branch=main", ".");
  const commit = (): string => {
    git("commit", "--quiet", "--allow-empty", "--message=x");
    return git("rev-parse", "HEAD");
  };
  return { root, git, commit };
}

test("[M2] what is checked out is read as git says it, at once after each change", async (t) => {
  const { root, git, commit } = await repository(t);
  assert.equal(checkedOut(root), null);
  const first = commit();
  assert.deepEqual(checkedOut(root), { branch: "main", commit: first });
  assert.deepEqual(checkedOut(root), { branch: "main", commit: git("rev-parse", "HEAD") });
  const second = commit();
  assert.deepEqual(checkedOut(root), { branch: "main", commit: second });
  git("switch", "--quiet", "--create", "team/a-thing", first);
  assert.deepEqual(checkedOut(root), { branch: "team/a-thing", commit: first });
  git("switch", "--quiet", "--detach", second);
  assert.deepEqual(checkedOut(root), { branch: null, commit: second });
});

test("[M2] [P5] what is not of the usual form is left to git", async (t) => {
  const { root, git, commit } = await repository(t);
  const first = commit();
  const linked = join(root, "linked");
  git("worktree", "add", "--quiet", "-b", "other", linked);
  assert.equal(checkedOut(linked), null);
  git("pack-refs", "--all");
  assert.equal(checkedOut(root), null);
  assert.equal(checkedOut(join(root, "nowhere")), null);
  const heads = join(root, ".git", "refs", "heads");
  mkdirSync(heads, { recursive: true });
  writeFileSync(join(root, "secret"), `${first}\n`);
  symlinkSync(join(root, "secret"), join(heads, "link"));
  writeFileSync(join(heads, "words"), "no commit\n");
  writeFileSync(join(heads, "long"), "a".repeat(5_000));
  for (const name of ["link", "words", "long", "../../../secret", "./main", "gone", ""]) {
    writeFileSync(join(root, ".git", "HEAD"), `ref: refs/heads/${name}\n`);
    assert.equal(checkedOut(root), null, name);
  }
});
