import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { hasCode, thrownBy } from "../../testing/refusals.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { dataFolderPath, openDataFolder } from "./data-folder.ts";

function mode(path: string): number {
  return statSync(path).mode & 0o777;
}

test("[B6] each operating system has its own path of the data folder", () => {
  const at = (platform: NodeJS.Platform, env: Record<string, string> = {}) =>
    dataFolderPath({ platform, env, home: "/home/ada" });
  assert.equal(at("linux"), "/home/ada/.local/share/Aptove");
  assert.equal(at("darwin"), "/home/ada/Library/Application Support/Aptove");
  assert.equal(at("linux", { XDG_DATA_HOME: "/srv/data" }), "/srv/data/Aptove");
  assert.equal(at("linux", { XDG_DATA_HOME: "relative" }), "/home/ada/.local/share/Aptove");
  assert.equal(at("win32", { LOCALAPPDATA: "/local" }), join("/local", "Aptove"));
  assert.equal(at("win32"), join("/home/ada", "AppData", "Local", "Aptove"));
});

test("[B6] APTOVE_DATA_DIR overrides the path on every system, and an empty variable does not", () => {
  for (const platform of ["linux", "darwin", "win32"] as const) {
    assert.equal(dataFolderPath({ platform, env: { APTOVE_DATA_DIR: "/data dir" } }), "/data dir");
  }
  assert.equal(
    dataFolderPath({ platform: "linux", env: { APTOVE_DATA_DIR: "" }, home: "/h" }),
    "/h/.local/share/Aptove",
  );
});

test("[B6] the user's home is found although HOME is empty", () => {
  const path = dataFolderPath({ platform: "linux", env: {}, home: "" });
  assert.ok(path.endsWith("/.local/share/Aptove") && path.startsWith("/"), path);
  assert.ok(!path.startsWith("/.local"), `${path} is not in a home (this user's is ${homedir()})`);
});

test("[B6] only its owner can use a new folder, whatever the umask", async (t) => {
  const before = process.umask(0);
  t.after(() => process.umask(before));
  const dir = join(await temporaryFolder(t), "a", "b");
  const folder = openDataFolder(dir);
  assert.equal(mode(dir), 0o700);
  assert.equal(mode(join(dir, "version")), 0o600);
  assert.deepEqual(folder, {
    dir,
    config: join(dir, "config.toml"),
    records: join(dir, "records.db"),
    recordsRestoring: join(dir, "records.db.restoring"),
    blobs: join(dir, "blobs"),
    blobsMoving: join(dir, "blobs-moving"),
    blobsMoved: join(dir, "blobs-moved"),
    live: join(dir, "live"),
    index: join(dir, "index"),
    workspaces: join(dir, "workspaces"),
    bindings: join(dir, "bindings.toml"),
    locks: join(dir, "locks"),
  });
  process.umask(0o777);
  const narrow = join(dir, "narrow");
  openDataFolder(narrow);
  assert.equal(mode(narrow), 0o700);
});

test("[B6] an existing folder is used as it is, every time", async (t) => {
  const dir = await temporaryFolder(t);
  openDataFolder(dir);
  writeFileSync(join(dir, "kept"), "x");
  assert.equal(openDataFolder(dir).dir, dir);
  assert.equal(readFileSync(join(dir, "kept"), "utf8"), "x");
  assert.equal(readFileSync(join(dir, "version"), "utf8"), "1\n");
});

test("[B2] [B6] a data folder of a newer version is refused and not changed", async (t) => {
  const dir = await temporaryFolder(t);
  writeFileSync(join(dir, "version"), "2\n");
  const error = thrownBy(() => openDataFolder(dir));
  assert.equal(error.code, "data_newer");
  assert.deepEqual(error.facts, { found: 2, known: 1 });
  assert.match(error.detail, /update aptove/);
  assert.deepEqual(readdirSync(dir), ["version"]);
});

test("[B6] an error names a damaged version file", async (t) => {
  const dir = await temporaryFolder(t);
  writeFileSync(join(dir, "version"), "one");
  const error = thrownBy(() => openDataFolder(dir));
  assert.equal(error.code, "storage_failed");
  assert.ok(error.detail.includes(join(dir, "version")), error.detail);
});

test("[B6] a data folder that is a file, or in one, is a fault of the setting, and not of the store", async (t) => {
  const file = join(await temporaryFolder(t), "file");
  writeFileSync(file, "");
  for (const dir of [file, join(file, "data")]) {
    const detail = `the data folder ${dir} is a file, or in a file; set APTOVE_DATA_DIR to a folder`;
    assert.throws(() => openDataFolder(dir), hasCode("config_invalid", detail));
  }
});

test("[B6] a folder that cannot be written is an error", async (t) => {
  if (process.getuid?.() === 0) return t.skip("root may write everywhere");
  const dir = join(await temporaryFolder(t), "closed");
  mkdirSync(dir);
  chmodSync(dir, 0o500);
  assert.equal(thrownBy(() => openDataFolder(dir)).code, "storage_failed");
});

test(
  "[B6] a path where no folder can be created is an error with a fix, and not an endless wait",
  { skip: !existsSync("/proc/self") && "there is no /proc" },
  () => {
    assert.throws(() => openDataFolder("/proc/aptove/data"), hasCode("storage_failed", "APTOVE_DATA_DIR"));
  },
);
