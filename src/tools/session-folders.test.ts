import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { toolWorld } from "../../testing/tool-world.ts";
import { SessionFolders } from "./session-folders.ts";

/** Each tool with a path. */
const withPath: [string, (path: string) => Record<string, unknown>][] = [
  ["read", (path) => ({ path })],
  ["list", (path) => ({ path })],
  ["search", (path) => ({ path, pattern: "secret" })],
  ["write", (path) => ({ path, content: "taken" })],
  ["edit", (path) => ({ path, find: "secret", replace: "taken" })],
  ["run", (path) => ({ cwd: path, command: "cat *" })],
];

test("[P5] no tool leaves the session's folders, by whatever path", async (t) => {
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

test("[P5] a search and a list of the folder pass over links that lead out of it", async (t) => {
  const outside = await temporaryFolder(t);
  await writeFile(join(outside, "file"), "secret");
  const world = await toolWorld(t);
  await symlink(outside, join(world.folder, "link"));
  await symlink(join(outside, "file"), join(world.folder, "file-link"));
  assert.match(await world.output("search", { pattern: "secret" }), /^\(no match/);
  assert.doesNotMatch(await world.output("list", {}), /link\/|secret/);
});

test("[P5] a link that leads nowhere, or to itself, is refused, and nothing is made where it points", async (t) => {
  const outside = await temporaryFolder(t);
  const world = await toolWorld(t);
  await symlink(join(outside, "new"), join(world.folder, "dangling"));
  await symlink("loop", join(world.folder, "loop"));
  for (const [name, args] of withPath) {
    assert.match(await world.fault(name, args("dangling")), /a link to something that is not there/);
    assert.match(await world.fault(name, args("dangling/deeper")), /a link to something that is not there/);
    assert.match(await world.fault(name, args("loop")), /a link that leads to itself/);
  }
  assert.deepEqual(await readdir(outside), []);
});

test("[P5] a path may not hold a NUL, be empty, or be no Unicode", async (t) => {
  const world = await toolWorld(t);
  for (const [name, args] of withPath) {
    assert.match(await world.fault(name, args("a\0b")), /NUL/);
    assert.match(await world.fault(name, args("")), /is empty/);
    assert.match(await world.fault(name, args("\ud800")), /not valid Unicode/);
    assert.match(await world.fault(name, args(`${"x".repeat(300)}/y`)), /failed: /);
  }
});

test("[P5] a session whose folder is a link works in it, by either name of the folder", async (t) => {
  const base = await temporaryFolder(t);
  await mkdir(join(base, "real"));
  await symlink("real", join(base, "linked"));
  const world = await toolWorld(t, { folders: [join(base, "linked")] });
  await world.output("write", { path: "new/a.txt", content: "one\n" });
  for (const path of ["new/a.txt", join(base, "linked/new/a.txt"), join(base, "real/new/a.txt")]) {
    assert.equal(await world.output("read", { path }), "1\tone");
  }
  // People and editors know the file by the folder's given name.
  const { locations } = await world.view("read", { path: join(base, "real/new/a.txt") });
  assert.deepEqual(locations, [{ path: join(base, "linked/new/a.txt") }]);
});

test("[P5] a folder that takes the name of the session's folder later is another one", async (t) => {
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
  assert.match(await world.fault("read", { path: "there.txt" }), /there is no there.txt/);
  assert.equal(await world.output("list", { path: other, glob: "*" }), join(other, "there.txt"));
});

test("[P5] a session without its folder says so", async (t) => {
  const base = await temporaryFolder(t);
  await writeFile(join(base, "file"), "");
  for (const folder of [join(base, "gone"), join(base, "file")]) {
    const world = await toolWorld(t, { folders: [folder] });
    assert.match(await world.fault("list", {}), /the session's folder .* is not there/);
  }
});

test("[E8] a closed folder inside the session's folder stays closed, and is open to a session of its own", async (t) => {
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
  // What the folder keeps for itself stays closed also there.
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

test("[P5] what is not there is answered with what is near", async (t) => {
  const world = await toolWorld(t);
  await world.put("src/parser.ts", "");
  await world.put("src/parser.test.ts", "");
  await world.put("README.md", "");
  assert.match(
    await world.fault("read", { path: "src/parse.ts" }),
    /there is no src\/parse.ts; there is src\/parser.ts/,
  );
  assert.match(await world.fault("read", { path: "src/parser.js" }), /src\/parser.ts/);
  assert.match(await world.fault("read", { path: "readme.md" }), /there is README.md/);
  assert.match(await world.fault("read", { path: "srv/parser.ts" }), /there is src$/);
});

test("[P5] a name is found however Unicode writes its letters, and one with a line feed stays on one line", async (t) => {
  const world = await toolWorld(t);
  await world.put("cafe\u0301/re\u0301sume\u0301.txt", "found\n");
  assert.equal(await world.output("read", { path: "caf\u00e9/r\u00e9sum\u00e9.txt" }), "1\tfound");
  await world.put("a\nb\u001b[31m.txt", "odd\n");
  assert.equal(await world.output("read", { path: "a\nb\u001b[31m.txt" }), "1\todd");
  assert.ok((await world.output("list", {})).includes('"a\\nb\\u001b[31m.txt"'));
  assert.equal((await world.view("read", { path: "a\nb\u001b[31m.txt" })).title, 'Read "a\\nb\\u001b[31m.txt"');
  assert.match(await world.output("search", { pattern: "odd" }), /^"a\\nb\\u001b\[31m.txt":\n1:odd$/);
});

test("[P5] what is shown of a name or a command does not deceive the eye", async (t) => {
  const world = await toolWorld(t);
  for (const letter of ["\u0007", "\u009b", "\u0085", "\u2028", "\u202e", "\u2066", "\u200f"]) {
    const escape = `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
    assert.equal((await world.view("run", { command: `rm a${letter}b` })).title, `Run "rm a${escape}b"`);
    assert.equal((await world.view("read", { path: `a${letter}b` })).title, `Read "a${escape}b"`);
  }
  assert.equal((await world.view("read", { path: "شارع/a.ts" })).title, "Read شارع/a.ts");
});

test("[P5] a path or a glob of any length is answered at once", async (t) => {
  const world = await toolWorld(t);
  for (let file = 0; file < 200; file++) await world.put(`${"f".repeat(200)}${file}`, "");
  // Before there were limits, some of these took minutes.
  assert.match(await world.fault("read", { path: "a".repeat(1_000_000) }), /the path has 1000000 characters/);
  assert.match(await world.fault("read", { path: "a".repeat(4_000) }), /there is no a/);
  assert.match(await world.fault("read", { path: "a/".repeat(2_000) }), /there is no a/);
  assert.match(await world.fault("list", { glob: "**/".repeat(100_000) }), /the glob has 300000 characters/);
  assert.match(await world.output("list", { glob: `${"**/".repeat(300)}x` }), /no file/);
});

test("[P5] nothing under /proc, /sys or /dev is a file, even where the session's folder is the root", async () => {
  const folders = new SessionFolders({ folders: ["/"] });
  for (const path of ["/proc/self/environ", "/dev/zero", "/proc/self/fd/0", "/sys"]) {
    await assert.rejects(folders.place(path), /not open to this session|not there/);
  }
});

test(
  "[P5] [E8] a session in a folder of the system's own has no files",
  { skip: process.platform !== "linux" },
  async () => {
    for (const folder of ["/proc/self", "/proc", "/dev"]) {
      const folders = new SessionFolders({ folders: [folder] });
      for (const path of ["environ", "fd/0", ".", "zero"])
        await assert.rejects(folders.place(path), /not open|not there/);
    }
    const { kind } = await new SessionFolders({ folders: ["/dev/shm"] }).place(".");
    assert.equal(kind, "folder");
  },
);
