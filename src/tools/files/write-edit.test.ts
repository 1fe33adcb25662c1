import assert from "node:assert/strict";
import { chmod, lstat, readdir, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { toolWorld } from "../../../testing/tool-world.ts";
import { limits } from "../../domain/limits.ts";
import { SessionFolders } from "../session-folders.ts";
import { ToolFault } from "../tool-fault.ts";
import { TextFiles } from "./text-files.ts";

test("[P5] write makes a file and missing folders, and shows the change", async (t) => {
  const world = await toolWorld(t);
  const result = await world.call("write", { path: "a/b/c.txt", content: "one\ntwo\n" });
  assert.deepEqual(result, {
    output: "created a/b/c.txt (2 lines)",
    isError: false,
    content: [{ type: "diff", path: join(world.folder, "a/b/c.txt"), oldText: null, newText: "one\ntwo\n" }],
  });
  assert.equal(await world.get("a/b/c.txt"), "one\ntwo\n");
  assert.deepEqual(await readdir(join(world.folder, "a/b")), ["c.txt"]);
});

test("[P5] write replaces no file whose current version the model has not read", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "old\n");
  assert.match(await world.fault("write", { path: "a.txt", content: "new\n" }), /was not read in this session/);
  await world.output("read", { path: "a.txt" });
  await world.put("a.txt", "of a person\n");
  assert.match(
    await world.fault("write", { path: "a.txt", content: "new\n" }),
    /changed since it was read; read it again/,
  );
  await world.output("read", { path: "a.txt" });
  assert.equal(await world.output("write", { path: "a.txt", content: "new\n" }), "wrote a.txt (1 line)");
  assert.equal(await world.output("write", { path: "a.txt", content: "newer\n" }), "wrote a.txt (1 line)");
  assert.equal(await world.output("write", { path: "a.txt", content: "newer\n" }), "a.txt already has this content");
});

test("[P5] edit replaces a part of a file, even if another part changed since it was read", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "one\ntwo\n");
  await world.output("read", { path: "a.txt" });
  await world.put("a.txt", "one\ntwo\nthree\n");
  const result = await world.call("edit", { path: "a.txt", find: "two", replace: "2" });
  assert.equal(result.output, "edited a.txt: 1 replacement, at line 2");
  const path = join(world.folder, "a.txt");
  const content = [{ type: "diff", path, oldText: "one\ntwo\nthree\n", newText: "one\n2\nthree\n" }];
  assert.deepEqual(result.content, content);
  assert.equal(await world.get("a.txt"), "one\n2\nthree\n");
  await world.put("a.txt", "other\n");
  assert.match(await world.fault("edit", { path: "a.txt", find: "three", replace: "3" }), /changed since it was read/);
  assert.match(await world.fault("edit", { path: "a.txt", find: "x", replace: "x" }), /the same text/);
  assert.match(
    await world.fault("edit", { path: "b.txt", find: "x", replace: "y" }),
    /b.txt does not exist; similar paths: a.txt/,
  );
});

test("[P5] a file keeps its line endings, byte order mark and mode", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.sh", "\ufeffone\r\ntwo\r\n");
  await chmod(join(world.folder, "a.sh"), 0o755);
  await world.output("edit", { path: "a.sh", find: "one\ntwo", replace: "1\n2" });
  assert.equal(await world.get("a.sh"), "\ufeff1\r\n2\r\n");
  await world.output("write", { path: "a.sh", content: "x\ny\n" });
  assert.equal(await world.get("a.sh"), "\ufeffx\r\ny\r\n");
  assert.equal((await stat(join(world.folder, "a.sh"))).mode & 0o777, 0o755);
});

test("[P5] a link to a file inside stays a link, and its file is changed", async (t) => {
  const world = await toolWorld(t);
  await world.put("real/a.txt", "one\n");
  await symlink("real/a.txt", join(world.folder, "link.txt"));
  await world.output("edit", { path: "link.txt", find: "one", replace: "two" });
  assert.equal(await world.get("real/a.txt"), "two\n");
  assert.ok((await lstat(join(world.folder, "link.txt"))).isSymbolicLink());
});

test("[P5] a path that may not be written is refused, and no temporary file remains", async (t) => {
  const world = await toolWorld(t);
  world.git("init", "-q");
  await world.put("fixed.txt", "one\n");
  await chmod(join(world.folder, "fixed.txt"), 0o444);
  assert.match(await world.fault("edit", { path: "fixed.txt", find: "one", replace: "two" }), /read-only/);
  for (const path of [".git/hooks/pre-commit", ".GIT/config", "sub/.git/config"]) {
    assert.match(await world.fault("write", { path, content: "x" }), /git's own/);
  }
  assert.match(await world.fault("write", { path: "fixed.txt/x", content: "x" }), /not a folder/);
  assert.match(await world.fault("write", { path: "n.txt", content: "a\0b" }), /NUL/);
  assert.match(await world.fault("write", { path: "trail/", content: "x" }), /trail\/ names a folder/);
  const large = "x".repeat(limits.toolFileBytesMax + 1);
  assert.match(await world.fault("write", { path: "n.txt", content: large }), /at most 10485760 can be written/);
  assert.deepEqual((await readdir(world.folder)).toSorted(), [".git", "fixed.txt"]);
});

test("[P5] a refusal of the system names the path of the call, and no internal one", async (t) => {
  const world = await toolWorld(t);
  const path = `${"n".repeat(256)}.txt`;
  const long = await world.fault("write", { path, content: "x" });
  assert.equal(long, `failed: ${path}: the name is too long for the system (ENAMETOOLONG)`);
  const below = await world.fault("write", { path: `a/${path}/b.txt`, content: "x" });
  assert.equal(below, `failed: a/${path}/b.txt: the name is too long for the system (ENAMETOOLONG)`);
  // A code without words of its own.
  const texts = new TextFiles();
  await world.put("f.txt", "");
  const target = await new SessionFolders({ folders: [world.folder] }).resolve("f.txt");
  await rm(join(world.folder, "f.txt"));
  const gone = texts.read(target, new AbortController().signal);
  await assert.rejects(gone, new ToolFault("f.txt: ENOENT: no such file or directory"));
});

test("[P5] a file that another program changes during the write is not replaced", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "one\n".repeat(100_000));
  const edits = Array.from({ length: 8 }, (_, index) =>
    world.call("edit", { path: "a.txt", find: `one\n`.repeat(100_000), replace: `by ${index}\n` }),
  );
  const results = await Promise.all(edits);
  assert.equal(results.filter(({ isError }) => !isError).length, 1);
  for (const { output, isError } of results) if (isError) assert.match(output, /changed while|is not in the file/);
  assert.match(await world.get("a.txt"), /^by \d\n$/);
  assert.deepEqual(await readdir(world.folder), ["a.txt"]);
});

test("[P5] an interrupted write leaves the file unchanged", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "one\n");
  const call = world.call("edit", { path: "a.txt", find: "one", replace: "two" }, { signal: AbortSignal.abort() });
  await assert.rejects(call, /abort/i);
  assert.equal(await world.get("a.txt"), "one\n");
  assert.deepEqual(await readdir(world.folder), ["a.txt"]);
});

test("[P4] a call that writes needs permission and is shown as its change", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "one\ntwo\n");
  const write = world.tools.find(({ definition }) => definition.name === "write");
  assert.equal(write?.needsApproval({ path: "a.txt", content: "" }), true);
  // No permission is requested for a call that cannot run.
  assert.equal(write?.needsApproval({ path: "a.txt" }), false);
  const path = join(world.folder, "a.txt");
  const permission = { key: `write ${world.folder}`, label: `change any file in ${world.folder}` };
  assert.deepEqual(await world.view("edit", { path: "a.txt", find: "two", replace: "2" }), {
    title: "Edit a.txt",
    kind: "edit",
    locations: [{ path, line: 2 }],
    content: [{ type: "diff", path, oldText: "one\ntwo\n", newText: "one\n2\n" }],
    permission,
  });
  const created = await world.view("write", { path: "b.txt", content: "x" });
  assert.equal(created.title, "Create b.txt");
  assert.deepEqual(created.permission, permission);
  await assert.rejects(world.view("write", { path: "../b.txt", content: "x" }), /not open to this session/);
  assert.equal(await world.get("a.txt"), "one\ntwo\n");
  assert.deepEqual(await readdir(world.folder), ["a.txt"]);
});

test("[P4] the change that was shown is the change that is made, or none is", async (t) => {
  const world = await toolWorld(t);
  await world.put("a.txt", "free: no\npaid: yes\n");
  const edit = { path: "a.txt", find: "no", replace: "yes" };
  await world.view("edit", edit);
  await world.put("a.txt", "free: yes\npaid: no\n");
  const changed = "failed: a.txt changed after this change of it was shown; read it again";
  assert.equal(await world.fault("edit", edit), changed);
  assert.equal(await world.get("a.txt"), "free: yes\npaid: no\n");
  // A call that is shown anew, and one that was never shown.
  await world.view("edit", edit);
  await world.output("edit", edit);
  await world.output("edit", { path: "a.txt", find: "paid", replace: "cost" });
  const write = { path: "a.txt", content: "x\n" };
  await world.view("write", write);
  await rm(join(world.folder, "a.txt"));
  assert.equal(await world.fault("write", write), changed);
});

test("[P4] a file that runs by itself is asked each time, and the question says why", async (t) => {
  const world = await toolWorld(t);
  const asked = [".vscode/tasks.json", ".envrc", ".husky/pre-commit", "web/package.json", ".github/workflows/ci.yml"];
  const more = [
    ".mcp.json",
    "sub/Makefile",
    ".npmrc",
    ".bashrc",
    "AGENTS.md",
    ".VSCode/Settings.json",
    ".git-x.git/hooks/a",
  ];
  const agents = [".claude/settings.json", ".cargo/config.toml", ".pre-commit-config.yaml", "x.code-workspace"];
  const starts = [".gdbinit", ".Rprofile", "a/Cargo.toml", "eslint.config.mjs", ".eslintrc.js", ".clinerules/a.md"];
  const installs = ["setup.cfg", "binding.gyp", "package.yaml", ".config/git/config"];
  const formats = [
    ".gitattributes",
    ".prettierrc",
    "a/.prettierrc.cjs",
    "prettier.config.mts",
    "node_modules/.bin/tsc",
  ];
  for (const path of [...asked, ...more, ...agents, ...starts, ...installs, ...formats]) {
    const { permission, content } = await world.view("write", { path, content: "x" });
    assert.equal(permission, null, path);
    const [why] = content;
    assert.ok(why?.type === "text" && why.text.startsWith(`${path} runs by itself: `), path);
  }
  for (const path of ["src/a.ts", "vscode/tasks.json", "package.json.md", "makefiles/a.txt", "docs/agents.md.txt"]) {
    assert.notEqual((await world.view("write", { path, content: "x" })).permission, null, path);
  }
  // Another name for such a file, and a session that was opened beside it.
  await world.put(".envrc", "a");
  await symlink(".envrc", join(world.folder, "notes.txt"));
  assert.equal((await world.view("edit", { path: "notes.txt", find: "a", replace: "b" })).permission, null);
  await world.put(".github/workflows/ci.yml", "a");
  const inside = await toolWorld(t, { folders: [join(world.folder, ".github/workflows")] });
  assert.equal((await inside.view("edit", { path: "ci.yml", find: "a", replace: "b" })).permission, null);
});

test("[P4] the parts of a bare repository that make git run a program are asked each time", async (t) => {
  const world = await toolWorld(t);
  const isAsked = async (path: string): Promise<boolean> =>
    (await world.view("write", { path, content: "x" })).permission === null;
  assert.equal(await isAsked("docs/HEAD"), true);
  const others = ["docs/config", "docs/hooks/post-checkout", "docs/commondir"];
  for (const path of others) assert.equal(await isAsked(path), false, path);
  // A repository that exists already, for example one of a test.
  await world.put("docs/HEAD", "ref: refs/heads/main\n");
  for (const path of others) assert.equal(await isAsked(path), true, path);
  const plain = ["docs/objects/a", "docs/refs/a", "docs/a/config", "docs/hooks/a/b", "hooks/a", "docs/HEAD.md"];
  for (const path of plain) assert.equal(await isAsked(path), false, path);
});

test("[P5] a session that was opened inside git's own folder writes nothing there", async (t) => {
  const world = await toolWorld(t);
  await world.put(".git/hooks/sample", "a");
  for (const folder of [".git", ".git/hooks"]) {
    const inside = await toolWorld(t, { folders: [join(world.folder, folder)] });
    const path = folder === ".git" ? "hooks/post-checkout" : "post-checkout";
    assert.match(await inside.fault("write", { path, content: "x" }), /git's own folder/);
  }
});
