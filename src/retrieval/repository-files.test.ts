import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { hasCode } from "../../testing/refusals.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { trackedFiles, WorkingCopyFiles } from "./repository-files.ts";
import { sampleRepository, type SampleRepository } from "./sample-repository.ts";

function repositoryFor(context: TestContext, files: Record<string, string>): SampleRepository {
  const repository = sampleRepository(files);
  context.after(() => repository.remove());
  return repository;
}

async function isRefused(folder: string, words: RegExp): Promise<void> {
  await assert.rejects(trackedFiles(folder), hasCode("repository_invalid", words));
}

test("[Q1] a folder without git is refused with the fix; so is one that does not exist, or a file", async (context) => {
  const folder = await temporaryFolder(context);
  await isRefused(folder, /not in a git repository.*`git init`/);
  await isRefused(join(folder, "nowhere"), /no folder/);
  writeFileSync(join(folder, "file"), "");
  await isRefused(join(folder, "file"), /no folder/);
});

test("[Q1] if git itself is missing, the error says so", async (context) => {
  const { root } = repositoryFor(context, {});
  const { PATH } = process.env;
  process.env["PATH"] = root;
  try {
    await isRefused(root, /install it/);
  } finally {
    process.env["PATH"] = PATH;
  }
});

test("[Q1] names of every kind are listed once, sorted, relative to the given folder", async (context) => {
  const names = ["a b.txt", "ünïcode/ф.md", "-dash", 'quote".ts', "sub/x.ts", "sub/deeper/y.ts"];
  const repository = repositoryFor(context, Object.fromEntries(names.map((name) => [name, name])));
  const commit = repository.commit();
  const { root, commit: head, paths } = await trackedFiles(repository.root);
  assert.deepEqual({ root, head, paths }, { root: repository.root, head: commit, paths: names.toSorted() });
  assert.deepEqual((await trackedFiles(join(repository.root, "sub"))).paths, ["deeper/y.ts", "x.ts"]);
});

test("[Q1] files in conflict are listed once", async (context) => {
  const repository = repositoryFor(context, { "a.txt": "base\n" });
  repository.commit();
  repository.git("checkout", "--quiet", "-b", "other");
  repository.write({ "a.txt": "theirs\n" });
  repository.commit();
  repository.git("checkout", "--quiet", "-");
  repository.write({ "a.txt": "ours\n" });
  repository.commit();
  assert.throws(() => repository.git("merge", "--quiet", "other"));
  assert.deepEqual((await trackedFiles(repository.root)).paths, ["a.txt"]);
});

test("[Q1] links and submodules are not listed, nor a name that could forge lines for the model", async (context) => {
  const outside = await temporaryFolder(context);
  writeFileSync(join(outside, "secret.txt"), "secret");
  const inner = repositoryFor(context, { "inner.txt": "inner" });
  inner.commit();
  const repository = repositoryFor(context, { "a.txt": "a", "two\nlines.txt": "forged" });
  symlinkSync(join(outside, "secret.txt"), join(repository.root, "link.txt"));
  symlinkSync(outside, join(repository.root, "linked-folder"));
  repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.root, "module");
  repository.git("add", "--all");
  assert.deepEqual((await trackedFiles(repository.root)).paths, [".gitmodules", "a.txt"]);
});

test("[Q1] a tracked path that became a link is not followed: file, folder, folder of a folder", async (context) => {
  const outside = await temporaryFolder(context);
  mkdirSync(join(outside, "deep"));
  for (const name of ["x.txt", "deep/x.txt"]) writeFileSync(join(outside, name), "secret");
  const { root } = repositoryFor(context, { "a.txt": "a", "b/x.txt": "b", "c/deep/x.txt": "c", "d.txt": "d" });
  const copy = new WorkingCopyFiles(root);
  assert.equal(copy.stat("a.txt")?.sizeBytes, 1);
  for (const name of ["a.txt", "b", "c"]) renameSync(join(root, name), join(root, `former-${name}`));
  symlinkSync(join(outside, "x.txt"), join(root, "a.txt"));
  for (const name of ["b", "c"]) symlinkSync(outside, join(root, name));
  for (const path of ["a.txt", "b/x.txt", "c/deep/x.txt"])
    assert.equal(new WorkingCopyFiles(root).stat(path), null, path);
  assert.equal(await copy.read("a.txt"), null, "changed between the look and the reading");
  assert.equal(new WorkingCopyFiles(root).stat("d.txt")?.sizeBytes, 1);
});

test("[Q1] a tracked file that was deleted or replaced by a folder is not a file", async (context) => {
  const { root } = repositoryFor(context, { "a.txt": "a", "b.txt": "b" });
  for (const name of ["a.txt", "b.txt"]) rmSync(join(root, name));
  mkdirSync(join(root, "b.txt"));
  const copy = new WorkingCopyFiles(root);
  for (const path of ["a.txt", "b.txt"]) assert.equal(copy.stat(path), null);
  assert.equal(await copy.read("a.txt"), null);
});

test("[Q2] the stamp of a file changes with its content", async (context) => {
  const { root } = repositoryFor(context, { "a.txt": "a" });
  const before = new WorkingCopyFiles(root).stat("a.txt");
  writeFileSync(join(root, "a.txt"), "longer");
  const after = new WorkingCopyFiles(root).stat("a.txt");
  assert.notEqual(after?.stamp, before?.stamp);
  assert.deepEqual(await new WorkingCopyFiles(root).read("a.txt"), Buffer.from("longer"));
});

test("[Q1] the variables of a git hook do not lead to another repository", async (context) => {
  const other = repositoryFor(context, { "other.txt": "other" });
  const { root } = repositoryFor(context, { "mine.txt": "mine" });
  process.env["GIT_DIR"] = join(other.root, ".git");
  try {
    assert.deepEqual((await trackedFiles(root)).paths, ["mine.txt"]);
  } finally {
    delete process.env["GIT_DIR"];
  }
});

test("[Q1] the configuration of a repository cannot start a program", async (context) => {
  const { root, git } = repositoryFor(context, { "a.txt": "a" });
  const trace = join(mkdtempSync(join(realpathSync(tmpdir()), "aptove-trace-")), "ran");
  context.after(() => rmSync(join(trace, ".."), { recursive: true, force: true }));
  git("config", "core.fsmonitor", `touch ${trace}; false`);
  await trackedFiles(root);
  assert.throws(() => realpathSync(trace), /ENOENT/);
});

test("[Q1] missing objects of a repository are not fetched, because the repository names the program that would fetch them", async (context) => {
  const { root, git } = repositoryFor(context, { "in/a.txt": "a", "out/b.txt": "b" });
  const trace = join(mkdtempSync(join(realpathSync(tmpdir()), "aptove-trace-")), "ran");
  context.after(() => rmSync(join(trace, ".."), { recursive: true, force: true }));
  git("commit", "-qm", "first");
  git("sparse-checkout", "init", "--cone", "--sparse-index");
  git("sparse-checkout", "set", "in");
  const tree = git("rev-parse", "HEAD:out").trim();
  rmSync(join(root, ".git/objects", tree.slice(0, 2), tree.slice(2)), { force: true });
  git("config", "core.repositoryformatversion", "1");
  git("config", "extensions.partialClone", "origin");
  git("config", "remote.origin.promisor", "true");
  git("config", "remote.origin.url", `ext::sh -c touch% ${trace}`);
  git("config", "protocol.ext.allow", "always");
  assert.deepEqual((await trackedFiles(root)).paths, ["in/a.txt"]);
  assert.throws(() => realpathSync(trace), /ENOENT/);
  // A plain call of git runs the program.
  spawnSync("git", ["ls-files"], { cwd: root });
  assert.equal(realpathSync(trace), trace);
});
