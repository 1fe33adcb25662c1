import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { sampleRepository, type SampleRepository } from "../retrieval/sample-repository.ts";
import { asCommittedAt, findWorkingCopy, changesOf } from "./git.ts";
import { shortIds } from "../doors/cli/lookup/find-by-id.ts";

test("[L1] short ids are the ends of ids, as long as they need to be", () => {
  const ids = ["01a20097-965c-71ff-a333-944162687189", "01a20097-9693-793c-a7c0-c137737f927d"];
  assert.deepEqual([...shortIds(ids).values()], ["62687189", "737f927d"]);
  const twins = ["01a20097-965c-71ff-a333-944162687189", "01a20097-965c-71ff-a333-a44162687189"];
  assert.deepEqual([...shortIds(twins).values()], ["944162687189", "a44162687189"]);
});

function repositoryFor(t: TestContext, files: Record<string, string>): SampleRepository {
  const repository = sampleRepository(files);
  t.after(() => repository.remove());
  repository.commit();
  return repository;
}

test("[X1] a repository without git on the path is not used, and the reason is named", async (t) => {
  const { root } = repositoryFor(t, { "a.txt": "a\n" });
  const { PATH } = process.env;
  t.after(() => (process.env["PATH"] = PATH));
  process.env["PATH"] = root;
  const copy = await findWorkingCopy(root);
  assert.deepEqual([copy.hasGit, copy.refusal], [false, "git is not on the path; install it"]);
  assert.equal((await findWorkingCopy(tmpdir())).refusal, null);
});

test("[X1] modified files are those whose content differs from the last commit, staged or not", async (t) => {
  const names = [
    "kept.txt",
    "edited.txt",
    "staged.txt",
    "touched.txt",
    "lines.txt",
    "gone.txt",
    "mode.sh",
    '"quoted".txt',
  ];
  const { root, git } = repositoryFor(t, Object.fromEntries(names.map((name) => [name, "a\n"])));
  const at = (name: string): string => join(root, name);
  writeFileSync(at("edited.txt"), "b\n");
  writeFileSync(at("staged.txt"), "b\n");
  git("add", "staged.txt");
  writeFileSync(at("staged.txt"), "a\n");
  git("config", "core.autocrlf", "true");
  writeFileSync(at("lines.txt"), "a\r\n");
  utimesSync(at("touched.txt"), 1_000_000, 1_000_000);
  rmSync(at("gone.txt"));
  chmodSync(at("mode.sh"), 0o755);
  writeFileSync(at("new.txt"), "a\n");
  writeFileSync(at("untracked.txt"), "a\n");
  git("add", "--intent-to-add", "new.txt");
  assert.deepEqual((await changesOf(root))?.modified.toSorted(), ["edited.txt", "mode.sh", "new.txt"]);
});

test("[X7] a file has its content of an earlier time if git had that content checked out then", async (t) => {
  const repository = repositoryFor(t, { "a.txt": "a\n", "b c.txt": "b\n", "[d]*.txt": "d\n" });
  const { root } = repository;
  repository.write({ "a.txt": "later\n" });
  repository.commit();
  const log = join(root, ".git/logs/HEAD");
  const seconds = [1_000, 2_000];
  const moves = readFileSync(log, "utf8").replaceAll(/> \d+ /g, () => `> ${seconds.shift()} `);
  writeFileSync(log, moves);
  writeFileSync(join(root, "b c.txt"), "edited\n");
  writeFileSync(join(root, "untracked.txt"), "a\n");
  const asAt = async (at: number): Promise<string[]> =>
    [...(await asCommittedAt(root, ["a.txt", "b c.txt", "[d]*.txt", "untracked.txt"], at * 1_000))].toSorted();
  assert.deepEqual(await asAt(999), [], "git does not know that time");
  assert.deepEqual(await asAt(1_500), ["[d]*.txt"]);
  assert.deepEqual(await asAt(2_000), ["[d]*.txt", "a.txt"]);
  writeFileSync(join(root, "a.txt"), "a\n");
  writeFileSync(join(root, "b c.txt"), "b\n");
  assert.deepEqual(await asAt(1_500), ["[d]*.txt", "a.txt", "b c.txt"]);
  assert.deepEqual(await asCommittedAt(join(root, ".."), ["a.txt"], 1_500_000), new Set());
});

test("[X1] a hostile working copy runs nothing and names no file of another repository", async (t) => {
  const other = repositoryFor(t, { "a.txt": "private\n" });
  const { root, git } = repositoryFor(t, { "a.txt": "a\n", ".gitattributes": "* filter=evil\n" });
  writeFileSync(join(other.root, "a.txt"), "a private change\n");
  const trace = join(root, "was-run");
  git("config", "filter.evil.clean", `touch ${trace}; cat`);
  git("config", "core.worktree", other.root);
  utimesSync(join(root, "a.txt"), 1_000_000, 1_000_000);
  const copy = await findWorkingCopy(root);
  assert.deepEqual([copy.root, copy.hasGit, copy.refusal], [root, true, null]);
  assert.deepEqual((await changesOf(root))?.modified, []);
  assert.ok(!existsSync(trace));
  renameSync(join(root, ".git"), join(root, "old"));
  writeFileSync(join(root, ".git"), `gitdir: ${other.root}/.git\n`);
  const refused = await findWorkingCopy(root);
  assert.equal(refused.hasGit, false);
  assert.match(refused.refusal ?? "", /does not know this folder/);
});
