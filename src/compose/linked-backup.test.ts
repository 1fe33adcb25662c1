/** Backups of a data folder with links: they have what is behind the links, and a restore writes none (B3). */
import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld } from "../../testing/cli.ts";
import { removeRecords } from "../../testing/stored-content.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { copyBeside, listBehindLinks } from "./data-folder/files-beside.ts";

interface Report {
  exit: number;
  damaged: { name: string; why: string }[];
}

/** A data folder with one session, and another folder that its links lead to. */
async function world(t: TestContext) {
  const cli = await cliWorld(t);
  assert.equal((await cli.run(["ask", "hello", "--new"])).exit, 0);
  const folder = await temporaryFolder(t);
  const elsewhere = join(folder, "elsewhere");
  mkdirSync(elsewhere);
  const run = async (...args: string[]): Promise<Report> => {
    const { exit, stdout, stderr } = await cli.run([...args, "--json"]);
    assert.ok(stdout !== "", stderr);
    return { ...(JSON.parse(stdout) as Report), exit };
  };
  return { cli, run, elsewhere, copy: join(folder, "copy") };
}

const linksIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink())
    .map(({ name }) => name);

test("[B3] a backup has what is behind links to a file and to a folder, so that a restore is whole without them", async (t) => {
  const { cli, run, elsewhere, copy } = await world(t);
  writeFileSync(join(elsewhere, "config.toml"), "# mine\n");
  mkdirSync(join(elsewhere, "workspaces/mine/memory"), { recursive: true });
  writeFileSync(join(elsewhere, "workspaces/mine/memory/note.md"), "remember\n");
  for (const name of ["config.toml", "workspaces"]) {
    rmSync(join(cli.dataDir, name), { recursive: true, force: true });
    symlinkSync(join(elsewhere, name), join(cli.dataDir, name));
  }
  const made = await run("backup", copy);
  assert.deepEqual([made.exit, made.damaged], [0, []]);
  assert.deepEqual(linksIn(copy), []);
  removeRecords(cli.dataDir);
  for (const name of ["config.toml", "workspaces"]) rmSync(join(cli.dataDir, name));
  rmSync(elsewhere, { recursive: true });
  assert.deepEqual(await run("restore", copy).then(({ exit, damaged }) => [exit, damaged]), [0, []]);
  assert.equal(readFileSync(join(cli.dataDir, "config.toml"), "utf8"), "# mine\n");
  assert.equal(readFileSync(join(cli.dataDir, "workspaces/mine/memory/note.md"), "utf8"), "remember\n");
});

test("[B3] a backup names a link to nothing, to itself and to a folder around it, takes the rest, and its restore names them too", async (t) => {
  const { cli, run, elsewhere, copy } = await world(t);
  const inside = join(cli.dataDir, "workspaces/mine");
  mkdirSync(inside, { recursive: true });
  writeFileSync(join(inside, "session.md"), "hello\n");
  symlinkSync(join(elsewhere, "gone"), join(cli.dataDir, "config.toml"));
  symlinkSync("self", join(inside, "self"));
  symlinkSync("..", join(inside, "up"));
  symlinkSync(cli.dataDir, join(inside, "data"));
  symlinkSync(join(copy, ".."), join(inside, "backups"));
  const made = await run("backup", copy);
  const found = new Map(made.damaged.map(({ name, why }) => [name, why]));
  const names = ["config.toml", ...["backups", "data", "self", "up"].map((name) => `workspaces/mine/${name}`)];
  assert.deepEqual([made.exit, [...found.keys()]], [1, names]);
  assert.match(found.get("config.toml") ?? "", /^is a link to .*gone, where there is nothing$/);
  for (const name of ["backups", "data", "up"]) assert.match(found.get(`workspaces/mine/${name}`) ?? "", /in it$/);
  assert.deepEqual(linksIn(copy), []);
  removeRecords(cli.dataDir);
  for (const name of ["config.toml", "workspaces"]) rmSync(join(cli.dataDir, name), { recursive: true });
  const restored = await run("restore", copy);
  assert.deepEqual([restored.exit, restored.damaged.map(({ name }) => name)], [1, names]);
  for (const { why } of restored.damaged) assert.match(why, /^is missing: it .* when the backup was made$/);
  assert.equal(readFileSync(join(inside, "session.md"), "utf8"), "hello\n");
});

test("[B3] a restore writes no link that is in a backup, and names it and what is missing", async (t) => {
  const { cli, run, elsewhere, copy } = await world(t);
  mkdirSync(join(elsewhere, "mine"));
  assert.equal((await run("backup", copy)).exit, 0);
  removeRecords(cli.dataDir);
  rmSync(join(cli.dataDir, "workspaces"), { recursive: true, force: true });
  rmSync(join(copy, "workspaces"), { recursive: true, force: true });
  symlinkSync(elsewhere, join(copy, "workspaces"));
  const restored = await run("restore", copy);
  const why = "is a link, and the backup does not have what it leads to";
  assert.deepEqual([restored.exit, restored.damaged], [1, [{ name: "workspaces", why }]]);
  assert.equal(lstatSync(join(cli.dataDir, "workspaces"), { throwIfNoEntry: false }), undefined);
});

test("[B3] a file that another process replaces or deletes during a backup does not end it, and temporary files stay out", async (t) => {
  const dir = await temporaryFolder(t);
  const [from, to] = [join(dir, "from"), join(dir, "to")];
  const inside = join(from, "workspaces/mine");
  for (const folder of [join(inside, "gone"), to]) mkdirSync(folder, { recursive: true });
  const names = ["session.md", "fact.md.new", "workspace.toml.new", "config.toml.4711.tmp", "gone/fact.md"];
  for (const name of names) writeFileSync(join(inside, name), "x");
  const list = listBehindLinks(from, to);
  assert.deepEqual(
    list.files,
    ["fact.md.new", "gone/fact.md", "session.md"].map((name) => `workspaces/mine/${name}`),
  );
  rmSync(join(inside, "gone"), { recursive: true });
  rmSync(join(inside, "fact.md.new"));
  assert.deepEqual(copyBeside(list, { from, to }), []);
  assert.equal(existsSync(join(to, "workspaces/mine/fact.md.new")), false);
  assert.equal(readFileSync(join(to, "workspaces/mine/session.md"), "utf8"), "x");
});
