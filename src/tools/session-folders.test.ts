import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { toolWorld } from "../../testing/tool-world.ts";
import { fileTools } from "./files/file-tools.ts";
import { SessionFolders } from "./session-folders.ts";

/** A call of each tool with a path. */
const withPath: [string, (path: string) => Record<string, unknown>][] = [
  ["read", (path) => ({ path })],
  ["list", (path) => ({ path })],
  ["search", (path) => ({ path, pattern: "secret" })],
  ["write", (path) => ({ path, content: "taken" })],
  ["edit", (path) => ({ path, find: "secret", replace: "taken" })],
  ["run", (path) => ({ cwd: path, command: "cat *" })],
];

test("[P5] no path leads a tool out of the session's folders", async (t) => {
  const outside = await temporaryFolder(t);
  await writeFile(join(outside, "file"), "secret");
  const world = await toolWorld(t);
  await world.put("inside/file", "mine");
  await symlink(outside, join(world.folder, "link"));
  await symlink(join(outside, "file"), join(world.folder, "file-link"));
  await symlink("..", join(world.folder, "up"));
  await symlink("link", join(world.folder, "link-to-link"));
  const paths = ["link", "link/file", "file-link", "link-to-link/file", "link/new/file", "up", "up/new", "..", "../x"];
  const absolute = [outside, join(outside, "file"), join(outside, "new"), "/", "/etc/passwd", "/proc/self/environ"];
  for (const path of [...paths, ...absolute, "inside/../../x", `/proc/self/root${outside}/file`, "/dev/zero"]) {
    for (const [name, args] of withPath) {
      const output = await world.fault(name, args(path));
      assert.match(output, /not open to this session/, `${name} ${path}`);
      assert.ok(!output.includes("secret"));
    }
  }
  assert.equal(await readFile(join(outside, "file"), "utf8"), "secret");
  assert.deepEqual(await readdir(outside), ["file"]);
});

test("[P5] search and list skip links that lead out of the folder", async (t) => {
  const outside = await temporaryFolder(t);
  await writeFile(join(outside, "file"), "secret");
  const world = await toolWorld(t);
  await symlink(outside, join(world.folder, "link"));
  await symlink(join(outside, "file"), join(world.folder, "file-link"));
  assert.match(await world.output("search", { pattern: "secret" }), /^\(no match/);
  assert.doesNotMatch(await world.output("list", {}), /link\/|secret/);
});

test("[P5] a link that leads nowhere or to itself is refused, and nothing is created at its target", async (t) => {
  const outside = await temporaryFolder(t);
  const world = await toolWorld(t);
  await symlink(join(outside, "new"), join(world.folder, "dangling"));
  await symlink("loop", join(world.folder, "loop"));
  for (const [name, args] of withPath) {
    assert.match(await world.fault(name, args("dangling")), /a link to something that does not exist/);
    assert.match(await world.fault(name, args("dangling/deeper")), /a link to something that does not exist/);
    assert.match(await world.fault(name, args("loop")), /a link that leads to itself/);
  }
  assert.deepEqual(await readdir(outside), []);
});

test("[P5] a path with a NUL, an empty path and one that is not valid Unicode are refused", async (t) => {
  const world = await toolWorld(t);
  for (const [name, args] of withPath) {
    assert.match(await world.fault(name, args("a\0b")), /NUL/);
    assert.match(await world.fault(name, args("")), /is empty/);
    assert.match(await world.fault(name, args("\ud800")), /not valid Unicode/);
    assert.match(await world.fault(name, args(`${"x".repeat(300)}/y`)), /failed: /);
  }
});

test("[P5] a session whose folder is a link can use both names of the folder", async (t) => {
  const base = await temporaryFolder(t);
  await mkdir(join(base, "real"));
  await symlink("real", join(base, "linked"));
  const world = await toolWorld(t, { folders: [join(base, "linked")] });
  await world.output("write", { path: "new/a.txt", content: "one\n" });
  for (const path of ["new/a.txt", join(base, "linked/new/a.txt"), join(base, "real/new/a.txt")]) {
    assert.equal(await world.output("read", { path }), "1\tone");
  }
  // People and editors know the file by the folder's configured name.
  const { locations } = await world.view("read", { path: join(base, "real/new/a.txt") });
  assert.deepEqual(locations, [{ path: join(base, "linked/new/a.txt") }]);
});

test("[P5] a new folder with the name of the session's folder is not the session's folder", async (t) => {
  const base = await temporaryFolder(t);
  await mkdir(join(base, "a"));
  await mkdir(join(base, "b"));
  await writeFile(join(base, "b/file"), "secret");
  await symlink("a", join(base, "linked"));
  const world = await toolWorld(t, { folders: [join(base, "linked")] });
  await world.output("list", {});
  execFileSync("ln", ["-sfn", "b", join(base, "linked")]);
  assert.match(await world.fault("read", { path: "file" }), /not open to this session/);
});

test("[P5] paths of another folder of the session are absolute, and relative ones begin in the first", async (t) => {
  const other = await temporaryFolder(t);
  await writeFile(join(other, "there.txt"), "there");
  const here = await temporaryFolder(t);
  const world = await toolWorld(t, { folders: [here, other] });
  assert.match(await world.output("search", { path: other, pattern: "there" }), new RegExp(`^${other}/there.txt:\n1:`));
  assert.match(await world.fault("read", { path: "there.txt" }), /there.txt does not exist/);
  assert.equal(await world.output("list", { path: other, glob: "*" }), join(other, "there.txt"));
});

test("[P5] a session whose folder is missing gets a fault", async (t) => {
  const base = await temporaryFolder(t);
  await writeFile(join(base, "file"), "");
  for (const folder of [join(base, "gone"), join(base, "file")]) {
    const world = await toolWorld(t, { folders: [folder] });
    assert.match(await world.fault("list", {}), /the session's folder .* does not exist/);
  }
});

test("[E8] a closed folder inside the session's folder stays closed, and is open to a session inside it", async (t) => {
  const home = await temporaryFolder(t);
  await mkdir(join(home, "data/workspaces/one"), { recursive: true });
  await writeFile(join(home, "data/config.toml"), "key");
  const closed = [{ folder: join(home, "data"), opens: (path: string) => !path.endsWith("config.toml") }];
  const wide = await toolWorld(t, { folders: [home], closed });
  for (const [name, args] of withPath) {
    assert.match(await wide.fault(name, args("data")), /not open to this session/);
    assert.match(await wide.fault(name, args("data/config.toml")), /not open to this session/);
  }
  assert.equal(await wide.output("list", {}), "./ is empty");
  assert.match(await wide.output("search", { pattern: "key" }), /no match in 0 files/);
  const own = await toolWorld(t, { folders: [home, join(home, "data/workspaces/one")], closed });
  await own.output("write", { path: join(home, "data/workspaces/one/note.md"), content: "x" });
  assert.match(await own.fault("read", { path: "data/config.toml" }), /not open to this session/);
  // The protected files of the folder stay closed there too.
  const kept = join(home, "data/workspaces/one/config.toml");
  await writeFile(kept, "key");
  for (const [name, args] of withPath) assert.match(await own.fault(name, args(kept)), /not open to this session/);
  assert.equal(
    await own.output("list", { path: join(home, "data/workspaces/one"), glob: "*" }),
    `${join(home, "data/workspaces/one")}/note.md`,
  );
  assert.match(
    await own.output("search", { path: join(home, "data/workspaces/one"), pattern: "key" }),
    /no match in 1 file/,
  );
});

test("[P5] a missing path is answered with similar paths", async (t) => {
  const world = await toolWorld(t);
  await world.put("src/parser.ts", "");
  await world.put("src/parser.test.ts", "");
  await world.put("README.md", "");
  assert.match(
    await world.fault("read", { path: "src/parse.ts" }),
    /src\/parse.ts does not exist; similar paths: src\/parser.ts/,
  );
  assert.match(await world.fault("read", { path: "src/parser.js" }), /src\/parser.ts/);
  assert.match(await world.fault("read", { path: "readme.md" }), /similar paths: README.md/);
  assert.match(await world.fault("read", { path: "srv/parser.ts" }), /similar paths: src$/);
});

test("[P5] a name is found in any Unicode form, and one with a line feed is shown on one line", async (t) => {
  const world = await toolWorld(t);
  await world.put("cafe\u0301/re\u0301sume\u0301.txt", "found\n");
  assert.equal(await world.output("read", { path: "caf\u00e9/r\u00e9sum\u00e9.txt" }), "1\tfound");
  await world.put("a\nb\u001b[31m.txt", "odd\n");
  assert.equal(await world.output("read", { path: "a\nb\u001b[31m.txt" }), "1\todd");
  assert.ok((await world.output("list", {})).includes('"a\\nb\\u001b[31m.txt"'));
  assert.equal((await world.view("read", { path: "a\nb\u001b[31m.txt" })).title, 'Read "a\\nb\\u001b[31m.txt"');
  assert.match(await world.output("search", { pattern: "odd" }), /^"a\\nb\\u001b\[31m.txt":\n1:odd$/);
});

test("[P5] names and commands are shown without deceiving characters", async (t) => {
  const world = await toolWorld(t);
  for (const letter of ["\u0007", "\u009b", "\u0085", "\u2028", "\u202e", "\u2066", "\u200f"]) {
    const escape = `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
    assert.equal((await world.view("run", { command: `rm a${letter}b` })).title, `Run rm a${escape}b`);
    assert.equal((await world.view("read", { path: `a${letter}b` })).title, `Read "a${escape}b"`);
  }
  assert.equal((await world.view("read", { path: "شارع/a.ts" })).title, "Read شارع/a.ts");
});

test("[P5] a path or a glob of any length is answered fast", async (t) => {
  const world = await toolWorld(t);
  for (let file = 0; file < 200; file++) await world.put(`${"f".repeat(200)}${file}`, "");
  // Before there were limits, some of these took minutes.
  assert.match(await world.fault("read", { path: "a".repeat(1_000_000) }), /the path has 1000000 characters/);
  assert.match(await world.fault("read", { path: "a".repeat(4_000) }), /a does not exist/);
  assert.match(await world.fault("read", { path: "a/".repeat(2_000) }), /a does not exist/);
  assert.match(await world.fault("list", { glob: "**/".repeat(100_000) }), /the glob has 300000 characters/);
  assert.match(await world.output("list", { glob: `${"**/".repeat(300)}x` }), /no file/);
});

test("[P5] nothing under /proc, /sys or /dev is a file, even where the session's folder is the root", async () => {
  const folders = new SessionFolders({ folders: ["/"] });
  for (const path of ["/proc/self/environ", "/dev/zero", "/proc/self/fd/0", "/sys"]) {
    await assert.rejects(folders.resolve(path), /not open to this session|does not exist/);
  }
});

test("[P5] [E8] a session in a folder of the system has no files", { skip: process.platform !== "linux" }, async () => {
  for (const folder of ["/proc/self", "/proc", "/dev"]) {
    const folders = new SessionFolders({ folders: [folder] });
    for (const path of ["environ", "fd/0", ".", "zero"])
      await assert.rejects(folders.resolve(path), /not open|does not exist/);
  }
  const { kind } = await new SessionFolders({ folders: ["/dev/shm"] }).resolve(".");
  assert.equal(kind, "folder");
});

test("[M7] [P5] a path with the name of a repository is a path in it, is shown so, and does not leave the session's folders", async (t) => {
  const base = await temporaryFolder(t);
  for (const name of ["api/src", "web/src", "lib"]) await mkdir(join(base, name), { recursive: true });
  for (const name of ["api/src/a.ts", "web/src/a.ts", "lib/a.ts"]) await writeFile(join(base, name), name);
  const repositories = new Map(["api", "web", "lib"].map((name) => [name, join(base, name)]));
  const folders = new SessionFolders({ folders: [join(base, "api"), join(base, "web")], repositories });
  const seen = async (path: string): Promise<string[]> => {
    const { real, shown } = await folders.resolve(path);
    return [real.slice(base.length + 1), shown];
  };
  assert.deepEqual(await seen("web:src/a.ts"), ["web/src/a.ts", "web:src/a.ts"]);
  assert.deepEqual(await seen("src/a.ts"), ["api/src/a.ts", "api:src/a.ts"]);
  assert.deepEqual(await seen("web:"), ["web", "web:"]);
  assert.deepEqual(await seen(join(base, "web/src")), ["web/src", "web:src"]);
  for (const path of ["web:../lib/a.ts", "lib:a.ts", "web:../../etc/passwd"]) {
    await assert.rejects(folders.resolve(path), /not open to this session/, path);
  }
  assert.deepEqual(await seen("web:/src/a.ts"), ["web/src/a.ts", "web:src/a.ts"]);
  const tools = fileTools({ folders: [join(base, "api"), join(base, "web")], repositories });
  const output = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const tool = tools.find(({ definition }) => definition.name === name);
    const signal = new AbortController().signal;
    const context = {
      sessionId: "s",
      turnId: "t",
      callId: "c",
      signal,
      showOutput: () => {},
      readOutput: async () => null,
    };
    return (await tool?.run(args, context))?.output ?? "";
  };
  assert.match(await output("list", { path: "web:" }), /^web: \(1 file\)/);
  assert.match(await output("list", { path: "web:", glob: "**/*.ts" }), /^web:src\/a\.ts$/);
  assert.match(await output("search", { path: "web:src", pattern: "web" }), /^web:src\/a\.ts:/);
  assert.match(await output("read", { path: "api:src/a.ts" }), /api\/src\/a\.ts/);
});
