import assert from "node:assert/strict";
import fs, { mkdirSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { folderCheck, workspacesCheck } from "./checks.ts";

const records = (url: string | null) => ({
  configuration: { records: { url } },
  folder: { workspaces: "/srv/a/workspaces" },
});

test("[L1] [W1] doctor says that workspaces are files of one data folder where the records are shared", () => {
  const shared = records("postgres://db.example.org/aptove");
  const { state, detail, fix } = workspacesCheck({ count: 2, problems: [] }, shared);
  assert.equal(state, "note");
  assert.match(detail, /^2, as files in \/srv\/a\/workspaces; a server with another data folder does not have them$/);
  assert.match(fix ?? "", /one data folder/);
  // Where nothing can be missing, and where something is worse, the check does not mention it.
  assert.deepEqual(workspacesCheck({ count: 2, problems: [] }, records(null)), {
    name: "workspaces",
    state: "ok",
    detail: "2",
  });
  assert.deepEqual(workspacesCheck({ count: 0, problems: [] }, shared), {
    name: "workspaces",
    state: "ok",
    detail: "0",
  });
  assert.equal(workspacesCheck({ count: 2, problems: ["workspace default: broken"] }, shared).state, "failed");
});

/** Lets the system refuse the folder, as it does for a user without permission. It refuses root nothing. */
function refuse(t: TestContext, dir: string): void {
  const { accessSync } = fs;
  t.mock.method(fs, "accessSync", (path: fs.PathLike, mode?: number) => {
    if (path === dir) throw Object.assign(new Error(`EACCES: permission denied, access '${dir}'`), { code: "EACCES" });
    accessSync(path, mode);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

test("[L1] [B6] a data folder that cannot be written is a failed check that names the folder and the fix", async (t) => {
  const dir = join(await temporaryFolder(t), "data");
  mkdirSync(dir, { mode: 0o700 });
  assert.equal(folderCheck(dir).state, "ok");
  refuse(t, dir);
  const { state, detail, fix } = folderCheck(dir);
  assert.deepEqual([state, detail], ["failed", `${dir} cannot be used: EACCES`]);
  assert.match(fix ?? "", /permission.*APTOVE_DATA_DIR/);
});

test("[L1] [B6] a data folder that cannot be created is a failed check, and one that can be is none", async (t) => {
  const above = await temporaryFolder(t);
  const dir = join(above, "more", "data");
  assert.equal(folderCheck(dir).state, "note");
  writeFileSync(join(above, "file"), "");
  assert.equal(folderCheck(join(above, "file", "data")).state, "failed");
  refuse(t, above);
  const { state, detail, fix } = folderCheck(dir);
  assert.equal(state, "failed");
  assert.equal(detail, `${dir} does not exist, and cannot be created, because ${above} cannot be used: EACCES`);
  assert.match(fix ?? "", /permission.*APTOVE_DATA_DIR/);
});
