import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { rejectionOf } from "../../../testing/refusals.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { limits } from "../../domain/limits.ts";
import { dataFolderAt, type DataFolder } from "../../configuration/data-folder.ts";
import type { WorkspaceStore } from "../workspace-store.ts";
import { fileWorkspaces } from "./file-workspaces.ts";
import { workspacePaths, type WorkspacePaths } from "./workspace-paths.ts";

const at = Date.parse("2026-02-15T10:30:00.123Z");

async function open(context: TestContext): Promise<{ store: WorkspaceStore; folder: DataFolder }> {
  const folder = dataFolderAt(await temporaryFolder(context));
  return { store: fileWorkspaces(folder), folder };
}

async function withDefault(context: TestContext): Promise<{ store: WorkspaceStore; paths: WorkspacePaths }> {
  const { store, folder } = await open(context);
  await store.create({ id: "default", name: "mine", provider: "anthropic", at });
  return { store, paths: workspacePaths(folder, "default") };
}

test("[W1] [B6] a new workspace has its whole layout, readable only by its owner, whatever the umask", async (t) => {
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const { store, folder } = await open(t);
  const id = randomUUID();
  await store.create({ id, name: "project-x", at });
  const paths = workspacePaths(folder, id);
  assert.deepEqual((await readdir(paths.folder)).toSorted(), [
    "mcp",
    "memory",
    "session.md",
    "skills",
    "workspace.toml",
  ]);
  assert.equal(await readFile(paths.session, "utf8"), "");
  await store.changePermissions(id, (permissions) => permissions.set("run ls", at));
  await store.touch(id, at + 1);
  const modes = new Map<string, number>();
  for (const name of ["", ...(await readdir(paths.folder))]) {
    modes.set(name, (await stat(join(paths.folder, name))).mode & 0o777);
  }
  modes.set("workspaces", (await stat(folder.workspaces)).mode & 0o777);
  modes.set("locks", (await stat(folder.locks)).mode & 0o777);
  for (const [name, mode] of modes) assert.equal(mode, /\.(?:toml|md)$/.test(name) ? 0o600 : 0o700, name);
  assert.deepEqual(await readdir(folder.workspaces), [id]);
});

test("[W1] workspace.toml and permissions.toml are easy to read", async (t) => {
  const { store, paths } = await withDefault(t);
  await store.changePermissions("default", (permissions) => permissions.set("run npm test", at));
  assert.equal(
    await readFile(paths.workspace, "utf8"),
    `# A workspace. aptove keeps this file up to date.
format = 1
uuid = "default"
name = "mine"
created_at = "2026-02-15T10:30:00.123Z"
last_accessed = "2026-02-15T10:30:00.123Z"
provider = "anthropic"
`,
  );
  assert.equal(
    await readFile(paths.permissions, "utf8"),
    `# The permanent permissions of this workspace. Delete a line to be asked again.
format = 1

[allowed]
"run npm test" = "2026-02-15T10:30:00.123Z"
`,
  );
});

test("[W1] a file that a person wrote is accepted, and unknown keys stay", async (t) => {
  const { store, paths } = await withDefault(t);
  const byHand = `uuid = "default"
created_at = 2026-02-15T11:30:00.123456+01:00 # a time of TOML
last_accessed = "2026-02-15T10:30:00.123456789+00:00"
colour = "blue"
[later]
deep = [1, 2]
`;
  await writeFile(paths.workspace, `\ufeff${byHand}`);
  const workspace = await store.load("default");
  assert.deepEqual(
    [workspace?.name, workspace?.provider, workspace?.createdAt, workspace?.lastAccessedAt],
    [null, null, at, at],
  );
  await store.update("default", { name: "new" });
  const text = await readFile(paths.workspace, "utf8");
  assert.match(text, /^name = "new"$/m);
  assert.match(text, /^colour = "blue"$/m);
  assert.match(text, /^\[later\]\ndeep = \[ ?1, 2 ?\]$/m);
});

test("[W1] a folder that a person made is a workspace, and a file is a damaged one", async (t) => {
  const { store, folder } = await open(t);
  const paths = workspacePaths(folder, "default");
  await mkdir(paths.folder, { recursive: true });
  await writeFile(paths.config, 'provider = "offline"\n');
  assert.deepEqual(await store.loadConfig("default"), { text: 'provider = "offline"\n', place: paths.config });
  assert.equal((await store.load("default"))?.name, null);
  assert.equal((await rejectionOf(store.create({ id: "default", at }))).code, "workspace_exists");
  assert.equal((await store.update("default", { name: "mine" })).name, "mine");
  assert.equal(await readFile(paths.config, "utf8"), 'provider = "offline"\n');
  const id = randomUUID();
  await writeFile(join(folder.workspaces, id), "not a folder");
  assert.equal((await rejectionOf(store.load(id))).code, "workspace_damaged");
});

test("[W1] what is not a workspace is not listed", async (t) => {
  const { store, folder } = await open(t);
  await store.create({ id: "default", at });
  for (const name of ["old backup", ".new-1", ".deleted-2", "DEFAULT"]) await mkdir(join(folder.workspaces, name));
  assert.deepEqual(
    (await store.list()).map(({ id }) => id),
    ["default"],
  );
});

test("[W1] damage is reported with its position and its fix, and the file stays unchanged", async (t) => {
  const { store, paths } = await withDefault(t);
  const times = `created_at = "2026-02-15T10:30:00Z"\nlast_accessed = "2026-02-15T10:30:00Z"\n`;
  const cases: [string | Uint8Array, RegExp][] = [
    ['uuid = "default"\nname = "half', /workspace\.toml:2:\d+: /],
    ["", /uuid must be "default", the name of the folder/],
    [`uuid = "${randomUUID()}"\n${times}`, /uuid must be "default"/],
    [`uuid = "default"\nname = 7\n${times}`, /name must be a text/],
    ['uuid = "default"\nlast_accessed = "2026-02-15T10:30:00Z"\n', /created_at must be a time such as/],
    [`uuid = "default"\n${times.replace("Z", "")}`, /created_at must be a time such as/],
    [`uuid = "default"\nformat = "new"\n${times}`, /format must be a whole number/],
    [Uint8Array.of(0x75, 0xff, 0xfe), /is not UTF-8 text/],
  ];
  for (const [content, message] of cases) {
    await writeFile(paths.workspace, content);
    const calls = [store.load("default"), store.touch("default", at + 1), store.update("default", { name: "x" })];
    for (const error of await Promise.all(calls.map(rejectionOf))) {
      assert.equal(error.code, "workspace_damaged");
      assert.match(error.detail, message);
      assert.ok(error.detail.startsWith(paths.workspace), error.detail);
      assert.match(error.detail, /; correct the file, or move it to another folder/);
    }
    assert.deepEqual(await readFile(paths.workspace), Buffer.from(content));
    const [listed] = await store.list();
    assert.match(listed?.damage ?? "", message);
  }
});

test("[P4] damaged permissions allow nothing, are reported with their position, and are not overwritten", async (t) => {
  const { store, paths } = await withDefault(t);
  for (const text of ["allowed = 1\n", '[allowed]\n"run rm" = true\n', "[allowed\n"]) {
    await writeFile(paths.permissions, text);
    const change = store.changePermissions("default", (permissions) => permissions.set("run ls", at));
    for (const error of await Promise.all([store.permissions("default"), change].map(rejectionOf))) {
      assert.equal(error.code, "workspace_damaged");
      assert.ok(error.detail.startsWith(paths.permissions), error.detail);
      assert.match(error.detail, /then you are asked again$/);
    }
    assert.equal(await readFile(paths.permissions, "utf8"), text);
  }
});

test("[B2] [W1] data of a newer version is refused and stays unchanged", async (t) => {
  const { store, paths } = await withDefault(t);
  const newer = 'format = 2\nuuid = { new = "form" }\n';
  await writeFile(paths.workspace, newer);
  await writeFile(paths.permissions, newer);
  const calls = [store.load("default"), store.touch("default", at + 1), store.permissions("default")];
  for (const error of await Promise.all(calls.map(rejectionOf))) {
    assert.equal(error.code, "data_newer");
    assert.deepEqual(error.facts, { found: 2, known: 1 });
    assert.match(error.detail, /update aptove/);
  }
  assert.match((await store.list())[0]?.damage ?? "", /has the format 2/);
  assert.equal(await readFile(paths.workspace, "utf8"), newer);
});

test("[W7] a config.toml that is not text is an error that names the file", async (t) => {
  const { store, paths } = await withDefault(t);
  await writeFile(paths.config, Uint8Array.of(0xff));
  const error = await rejectionOf(store.loadConfig("default"));
  assert.equal(error.code, "config_invalid");
  assert.ok(error.detail.includes(paths.config), error.detail);
});

test("[W6] a deletion leaves nothing behind, not even from interrupted ones", async (t) => {
  const { store, folder } = await open(t);
  const id = randomUUID();
  await store.create({ id, at });
  await store.touch(id, at + 1);
  const fresh = join(folder.workspaces, ".new-1");
  const old = join(folder.workspaces, ".new-2");
  for (const path of [fresh, old, join(folder.workspaces, ".deleted-3")])
    await mkdir(join(path, "mcp"), { recursive: true });
  const longAgo = (Date.now() - limits.abandonedFileAgeMs - 60_000) / 1_000;
  await utimes(old, longAgo, longAgo);
  assert.equal(await store.delete(id), true);
  // A folder that another process may be creating is left alone.
  assert.deepEqual(await readdir(folder.workspaces), [".new-1"]);
  assert.deepEqual(await readdir(folder.locks), []);
});

test("[W1] reading creates neither folders nor locks", async (t) => {
  const { store, folder } = await open(t);
  assert.deepEqual(await store.list(), []);
  assert.equal(await store.load("default"), null);
  assert.equal(await store.touch("default", at), false);
  assert.equal(await store.delete("default"), false);
  await rejectionOf(store.update("default", { name: "x" }));
  assert.deepEqual(await readdir(folder.dir), []);
});
