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

test("[P5] a list is what git tracks or would take, as it is on disk", async (t) => {
  const world = await toolWorld(t);
  await repository(world);
  assert.equal(await world.output("list", {}), "./ (3 files)\nsrc/\n  a.ts\n.gitignore\nuntracked.ts");
  assert.equal(await world.output("list", { glob: "*.ts" }), "src/a.ts\nuntracked.ts");
  assert.equal(await world.output("list", { path: "src", glob: "*" }), "src/a.ts");
  assert.equal(await world.output("list", { glob: "*.rs" }), "no file in ./ fits");
  assert.match(await world.fault("list", { path: "src/a.ts" }), /is a file; use "read"/);
  assert.match(await world.fault("list", { path: "scr" }), /there is no scr; there is src/);
});

test("[P5] a folder that git ignores is listed and searched when it is named", async (t) => {
  const world = await toolWorld(t);
  await repository(world);
  assert.equal(await world.output("list", { path: "ignored" }), "ignored/ (1 file)\ndeep/\n  x.ts");
  const found = await world.output("search", { path: "ignored", pattern: "export" });
  assert.equal(found, "ignored/deep/x.ts:\n1:export const x = 1;");
  assert.match(await world.output("search", { path: "debug.log", pattern: "export" }), /^debug.log:\n1:export$/);
});

test("[P5] repositories inside a folder are listed as each of them says", async (t) => {
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
  // As a submodule that was never fetched is: known to git, and empty.
  execFileSync("git", ["update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},missing`], {
    cwd: join(world.folder, "one"),
  });
  await world.put("one/missing/.keep", "");
  execFileSync("rm", [join(world.folder, "one/missing/.keep")]);
  assert.deepEqual((await listFiles(join(world.folder, "one"), never)).paths, [".gitignore", "a.ts", "inner/c.ts"]);
});

test("[P5] names are listed as they are, and the repository's settings start no program", async (t) => {
  const world = await toolWorld(t);
  world.git("init", "-q");
  world.git("config", "core.fsmonitor", `touch ${join(world.folder, "started")}`);
  await world.put("Ünïcode 😀/a b.ts", "");
  await world.put("a\nb.ts", "");
  await world.put('qu"ote.ts', "");
  const { paths } = await listFiles(world.folder, never);
  assert.deepEqual(paths, ["a\nb.ts", 'qu"ote.ts', "Ünïcode 😀/a b.ts"].toSorted());
});

test("[P5] a list is bounded in files and in time, and says so", async (t) => {
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

test("[P5] search finds lines by expression or as they are, with lines around them", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "one\ntwo (2)\r\nthree\nfour\nfive\nsix\ntwo (3)\n");
  await world.put("b/c.md", "Two (2)\n");
  const said = (args: Record<string, unknown>) => world.output("search", args);
  assert.equal(await said({ pattern: "two \\(\\d\\)$" }), "a.txt:\n2:two (2)\n7:two (3)");
  assert.equal(await said({ pattern: "two (2)", literal: true }), "a.txt:\n2:two (2)");
  assert.equal(
    await said({ pattern: "two (2)", literal: true, ignore_case: true, glob: "*.md" }),
    "b/c.md:\n1:Two (2)",
  );
  assert.equal(await said({ pattern: "(?i)TWO", path: "b" }), "b/c.md:\n1:Two (2)");
  const around = "a.txt:\n1-one\n2:two (2)\n3-three\n--\n6-six\n7:two (3)";
  assert.equal(await said({ pattern: "^two", context: 1 }), around);
  assert.equal(await said({ pattern: "^(three|four)", context: 1 }), "a.txt:\n2-two (2)\n3:three\n4:four\n5-five");
  assert.equal(await said({ pattern: "nowhere" }), "(no match in 2 files)");
  assert.equal(await said({ pattern: "(?<=one\\n)two" }), "(no match in 2 files)");
  assert.equal(await said({ pattern: "[^x]ive", path: "a.txt" }), "a.txt:\n5:five");
  assert.match(await world.fault("search", { pattern: "(" }), /the pattern cannot be used: .*[Uu]nterminated group/);
});

test("[P5] what search gives is bounded, and files that are no text or too large are passed over", async (t) => {
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

test("[P5] an expression that would take for ever is stopped, and the file is named", async (t) => {
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

/** Whatever the repository says that git should run leaves this file. */
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

test("[P5] listing a repository runs no program that it names, not even to fetch what it lacks", async (t) => {
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
  // The repository does lead git there: asked plainly, it runs the program.
  spawnSync("git", ["ls-files"], { cwd: world.folder });
  assert.ok(existsSync(ran));
  rmSync(ran);
  assert.match(await world.output("list", {}), /a\.ts/);
  assert.match(await world.output("search", { pattern: "a" }), /in\/a\.ts/);
  assert.equal(existsSync(ran), false);
});

test("[P5] a repository whose files are elsewhere, or that only looks like one, lists nothing of elsewhere", async (t) => {
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

test("[P5] [E8] a search tells nothing of what is closed, also where git's index leads there by a link", async (t) => {
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

test("[P5] folders deeper than a path can say are passed over", { skip: process.platform === "win32" }, async (t) => {
  const world = await toolWorld(t);
  await world.put("top.txt", "here\n");
  const name = "d".repeat(200);
  const make =
    "for (let depth = 0; depth < 30; depth++) { fs.mkdirSync(process.argv[1]); process.chdir(process.argv[1]); }";
  execFileSync(process.execPath, ["-e", make, name], { cwd: world.folder });
  const [listed, found] = [await world.call("list", {}), await world.call("search", { pattern: "here" })];
  // What takes the folder away afterwards names its files by their paths too.
  execFileSync("rm", ["-rf", join(world.folder, name)]);
  assert.match(listed.output, /top\.txt/);
  assert.match(found.output, /^top\.txt:/);
});
