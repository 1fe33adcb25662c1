import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { symlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { toolWorld, type ToolWorld } from "../../../testing/tool-world.ts";
import { limits } from "../../domain/limits.ts";
import { listFiles } from "./listing.ts";
import { runSearch } from "./search-run.ts";

const never = new AbortController().signal;

async function repository(world: ToolWorld): Promise<void> {
  await world.put(".gitignore", "ignored/\n*.log\n");
  await world.put("src/a.ts", "export const a = 1;\n");
  await world.put("src/gone.ts", "");
  await world.put("ignored/deep/x.ts", "export const x = 1;\n");
  await world.put("debug.log", "export\n");
  world.git("init", "-q");
  world.git("add", ".");
  world.git("commit", "-qm", "first");
  await world.put("untracked.ts", "export const u = 1;\n");
  execFileSync("rm", [join(world.folder, "src/gone.ts")]);
}

test("[P5] a list has the files on disk that git tracks or would add", async (t) => {
  const world = await toolWorld(t);
  await repository(world);
  assert.equal(await world.output("list", {}), "./ (3 files)\nsrc/\n  a.ts\n.gitignore\nuntracked.ts");
  assert.equal(await world.output("list", { glob: "*.ts" }), "src/a.ts\nuntracked.ts");
  assert.equal(await world.output("list", { path: "src", glob: "*" }), "src/a.ts");
  assert.equal(await world.output("list", { glob: "*.rs" }), "no file in ./ matches");
  assert.match(await world.fault("list", { path: "src/a.ts" }), /is a file; use "read"/);
  assert.match(await world.fault("list", { path: "scr" }), /scr does not exist; similar paths: src/);
});

test("[P5] a folder that git ignores is listed and searched if the call names it", async (t) => {
  const world = await toolWorld(t);
  await repository(world);
  assert.equal(await world.output("list", { path: "ignored" }), "ignored/ (1 file)\ndeep/\n  x.ts");
  const found = await world.output("search", { path: "ignored", pattern: "export" });
  assert.equal(found, "ignored/deep/x.ts:\n1:export const x = 1;");
  assert.match(await world.output("search", { path: "debug.log", pattern: "export" }), /^debug.log:\n1:export$/);
});

test("[P5] repositories inside a folder are listed by their own rules", async (t) => {
  const world = await toolWorld(t);
  await world.put("one/.gitignore", "out\n");
  await world.put("one/a.ts", "");
  await world.put("one/out/b.js", "");
  await world.put("one/inner/c.ts", "");
  await world.put("plain/node_modules/d.js", "");
  await world.put("plain/e.ts", "");
  execFileSync("git", ["init", "-q", "one"], { cwd: world.folder });
  execFileSync("git", ["init", "-q", "one/inner"], { cwd: world.folder });
  const paths = ["one/.gitignore", "one/a.ts", "one/inner/c.ts", "plain/e.ts"];
  assert.deepEqual(await listFiles(world.folder, never), { paths, isCut: false });
  // A submodule that was never fetched is known to git and empty.
  execFileSync("git", ["update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},missing`], {
    cwd: join(world.folder, "one"),
  });
  await world.put("one/missing/.keep", "");
  execFileSync("rm", [join(world.folder, "one/missing/.keep")]);
  assert.deepEqual((await listFiles(join(world.folder, "one"), never)).paths, [".gitignore", "a.ts", "inner/c.ts"]);
});

test("[P5] names are listed unchanged, and the repository's settings start no program", async (t) => {
  const world = await toolWorld(t);
  world.git("init", "-q");
  world.git("config", "core.fsmonitor", `touch ${join(world.folder, "started")}`);
  await world.put("Ünïcode 😀/a b.ts", "");
  await world.put("a\nb.ts", "");
  await world.put('qu"ote.ts', "");
  const { paths } = await listFiles(world.folder, never);
  assert.deepEqual(paths, ["a\nb.ts", 'qu"ote.ts', "Ünïcode 😀/a b.ts"].toSorted());
});

test("[P5] a list is limited in files and time, and says when it was cut", async (t) => {
  const world = await toolWorld(t);
  for (let index = 0; index < 30; index++) await world.put(`d${index % 5}/f${index}.txt`, "");
  for (const isRepository of [false, true]) {
    if (isRepository) world.git("init", "-q");
    const few = await listFiles(world.folder, never, { filesMax: 7 });
    assert.deepEqual([few.paths.length, few.isCut], [7, true]);
    assert.equal((await listFiles(world.folder, never, { filesMax: 30 })).isCut, false);
  }
  const late = await listFiles(world.folder, never, { timeMs: 0 });
  assert.equal(late.isCut, true);
  await assert.rejects(listFiles(world.folder, AbortSignal.abort()), /abort/i);
});

test("[P5] search finds lines by regular expression or literal text, with lines around them", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "one\ntwo (2)\r\nthree\nfour\nfive\nsix\ntwo (3)\n");
  await world.put("b/c.md", "Two (2)\n");
  const search = (args: Record<string, unknown>) => world.output("search", args);
  assert.equal(await search({ pattern: "two \\(\\d\\)$" }), "a.txt:\n2:two (2)\n7:two (3)");
  assert.equal(await search({ pattern: "two (2)", literal: true }), "a.txt:\n2:two (2)");
  assert.equal(
    await search({ pattern: "two (2)", literal: true, ignore_case: true, glob: "*.md" }),
    "b/c.md:\n1:Two (2)",
  );
  assert.equal(await search({ pattern: "(?i)TWO", path: "b" }), "b/c.md:\n1:Two (2)");
  const around = "a.txt:\n1-one\n2:two (2)\n3-three\n--\n6-six\n7:two (3)";
  assert.equal(await search({ pattern: "^two", context: 1 }), around);
  assert.equal(await search({ pattern: "^(three|four)", context: 1 }), "a.txt:\n2-two (2)\n3:three\n4:four\n5-five");
  assert.equal(await search({ pattern: "nowhere" }), "(no match in 2 files)");
  assert.equal(await search({ pattern: "(?<=one\\n)two" }), "(no match in 2 files)");
  assert.equal(await search({ pattern: "[^x]ive", path: "a.txt" }), "a.txt:\n5:five");
  assert.match(await world.fault("search", { pattern: "(" }), /the pattern cannot be used: .*[Uu]nterminated group/);
});

test("[P5] search results are limited, and files that are not text or too large are skipped", async (t) => {
  const world = await toolWorld(t);
  await world.put("many.txt", "hit\n".repeat(1_000));
  await world.put("wide.txt", `${"a".repeat(5_000)}needle${"b".repeat(5_000)}\n`);
  await world.put("binary.dat", "needle\0");
  await world.put("large.txt", "needle\n");
  await truncate(join(world.folder, "large.txt"), limits.searchedFileBytesMax + 1);
  const many = await world.output("search", { pattern: "hit" });
  assert.equal(many.split("\n").length, 1 + limits.searchMatchesMax + 2);
  assert.match(many, /there are more matches than these 200: narrow/);
  const wide = await world.output("search", { pattern: "needle" });
  assert.match(wide, /^wide.txt:\n1:…a+needleb+…\n\(files over 4 MiB left out: 1\)$/);
  assert.ok(wide.length < 400);
});

test("[P5] an expression that would never end is stopped, and the file is named", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "fine\n");
  await world.put("b.txt", `${"a".repeat(60)}!\n`);
  const hostile = { folder: world.folder, paths: ["a.txt", "b.txt"], pattern: "^fine|^(a+)+$" };
  const question = { ...hostile, isLiteral: false, ignoreCase: false, contextLines: 0 };
  const outcome = await runSearch(Promise.resolve(question), { signal: never, timeMs: 1_500 });
  assert.equal(outcome.stoppedIn, "b.txt");
  assert.deepEqual(outcome.files, [{ path: "a.txt", lines: ["1:fine"] }]);
  const stop = new AbortController();
  const stopped = runSearch(Promise.resolve(question), { signal: stop.signal });
  stop.abort();
  await assert.rejects(stopped, /abort/i);
  const late = runSearch(Promise.reject(new Error("no list")), { signal: never });
  await assert.rejects(late, /no list/);
});

/** Any program that the repository makes git run creates this file. */
async function programs(world: ToolWorld): Promise<{ ran: string; configure(): void }> {
  const ran = join(world.folder, "..", `ran-${randomUUID()}`);
  const configure = (): void => {
    world.git("config", "core.repositoryformatversion", "1");
    world.git("config", "extensions.partialClone", "origin");
    world.git("config", "remote.origin.promisor", "true");
    world.git("config", "remote.origin.url", `ext::sh -c touch% ${ran}`);
    world.git("config", "protocol.ext.allow", "always");
    world.git("config", "core.fsmonitor", `touch ${ran}; false`);
  };
  return { ran, configure };
}

test("[P5] listing a repository runs no program that it names, not even to fetch missing objects", async (t) => {
  const world = await toolWorld(t);
  await world.put("in/a.ts", "a\n");
  await world.put("out/b.ts", "b\n");
  world.git("init", "-q");
  world.git("add", ".");
  world.git("commit", "-qm", "first");
  world.git("sparse-checkout", "init", "--cone", "--sparse-index");
  world.git("sparse-checkout", "set", "in");
  const tree = execFileSync("git", ["rev-parse", "HEAD:out"], { cwd: world.folder, encoding: "utf8" }).trim();
  execFileSync("rm", ["-f", join(world.folder, ".git/objects", tree.slice(0, 2), tree.slice(2))]);
  const { ran, configure } = await programs(world);
  configure();
  t.after(() => rmSync(ran, { force: true }));
  // The repository's settings work: without our options, git runs the program.
  spawnSync("git", ["ls-files"], { cwd: world.folder });
  assert.ok(existsSync(ran));
  rmSync(ran);
  assert.match(await world.output("list", {}), /a\.ts/);
  assert.match(await world.output("search", { pattern: "a" }), /in\/a\.ts/);
  assert.equal(existsSync(ran), false);
});

test("[P5] a repository whose files are elsewhere, and a fake one, list no file from elsewhere", async (t) => {
  const [world, elsewhere] = [await toolWorld(t), await toolWorld(t)];
  await elsewhere.put("secret.txt", "");
  await world.put("mine.txt", "");
  world.git("init", "-q");
  world.git("config", "core.worktree", elsewhere.folder);
  assert.equal(await world.output("list", {}), "./ (1 file)\nmine.txt");
  const bare = await toolWorld(t);
  await bare.put("inner/HEAD", "ref: refs/heads/main\n");
  await bare.put("inner/config", `[core]\nbare = false\nworktree = ${elsewhere.folder}\n`);
  await bare.put("inner/objects/x", "");
  await bare.put("inner/refs/x", "");
  assert.match(await bare.output("list", { path: "inner" }), /config/);
  assert.doesNotMatch(await bare.output("list", { path: "inner" }), /secret/);
});

test("[P5] [E8] a search finds nothing in closed folders, even if git's index leads there through a link", async (t) => {
  const world = await toolWorld(t);
  const closed = await toolWorld(t, { folders: [world.folder], closed: [{ folder: join(world.folder, "data") }] });
  await world.put("data/config.toml", "key = hidden\n");
  await world.put("a/config.toml", "");
  world.git("init", "-q");
  world.git("add", "a");
  world.git("commit", "-qm", "first");
  execFileSync("rm", ["-r", join(world.folder, "a")]);
  await symlink("data", join(world.folder, "a"));
  assert.equal(await closed.output("search", { pattern: "hidden" }), "(no match in 1 file)");
});

test("[P5] folders that are too deep for a path are skipped", { skip: process.platform === "win32" }, async (t) => {
  const world = await toolWorld(t);
  await world.put("top.txt", "here\n");
  const name = "d".repeat(200);
  const make =
    "for (let depth = 0; depth < 30; depth++) { fs.mkdirSync(process.argv[1]); process.chdir(process.argv[1]); }";
  execFileSync(process.execPath, ["-e", make, name], { cwd: world.folder });
  const [listed, found] = [await world.call("list", {}), await world.call("search", { pattern: "here" })];
  // The clean-up of the test addresses the files by their paths too.
  execFileSync("rm", ["-rf", join(world.folder, name)]);
  assert.match(listed.output, /top\.txt/);
  assert.match(found.output, /^top\.txt:/);
});

test("[P5] search sees the lines that read shows: without a byte order mark, and none of a binary file", async (t) => {
  const world = await toolWorld(t);
  await world.put("marked.txt", "\ufeffone\ntwo\n");
  await world.put("late.txt", `one\n${"x".repeat(9_000)}\0\n`);
  for (const pattern of ["^one$", "one"]) {
    assert.equal(await world.output("search", { pattern }), "marked.txt:\n1:one");
  }
  assert.match(await world.fault("read", { path: "late.txt" }), /not a text file/);
});
