import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { SessionFolders } from "../session-folders.ts";
import { insideFolder, type FolderAccess } from "./folder-access.ts";

/** The two implementations: the one with descriptors, if this is Linux, and the other one. */
const ways: [string, Partial<FolderAccess>][] = [["by names", { descriptors: null }]];
if (existsSync("/proc/self/fd")) ways.push(["by descriptors", {}]);

async function world(t: TestContext) {
  const base = await temporaryFolder(t);
  await mkdir(join(base, "session/a/b"), { recursive: true });
  await mkdir(join(base, "outside/b"), { recursive: true });
  await writeFile(join(base, "outside/b/file"), "secret");
  await writeFile(join(base, "session/a/b/file"), "mine");
  return { base, folders: new SessionFolders({ folders: [join(base, "session")] }) };
}

for (const [name, way] of ways) {
  test(`[P5] a folder that became a link after it was checked is not entered (${name})`, async (t) => {
    const { base, folders } = await world(t);
    const target = await folders.resolve("a/b/file");
    const fresh = await folders.resolve("a/b/new/file");
    await rename(join(base, "session/a"), join(base, "session/was"));
    await symlink("../outside", join(base, "session/a"));
    for (const each of [target, fresh]) {
      for (const make of [true, false]) {
        const entering = insideFolder(each, { makesMissing: make, ...way }, (at) => writeFile(at("file"), "taken"));
        await assert.rejects(entering, /became a link in the meantime|ENOENT/);
      }
    }
    assert.equal(await readFile(join(base, "outside/b/file"), "utf8"), "secret");
    if (way.descriptors !== null) assert.deepEqual(await readdir(join(base, "outside/b")), ["file"]);
  });

  test(`[P5] missing folders are made where they are wanted, and only there (${name})`, async (t) => {
    const { folders } = await world(t);
    const target = await folders.resolve("new/deep/file");
    await assert.rejects(
      insideFolder(target, { makesMissing: false, ...way }, () => Promise.resolve()),
      /not a folder/,
    );
    await insideFolder(target, { makesMissing: true, ...way }, (at) => writeFile(at("file"), "here"));
    assert.equal(await readFile(target.real, "utf8"), "here");
    const behindFile = await folders.resolve("a/b/file/new");
    await assert.rejects(insideFolder(behindFile, { makesMissing: true, ...way }, () => Promise.resolve()));
  });
}

test(
  "[P5] a folder that becomes a link while it is worked in does not lead elsewhere",
  {
    skip: existsSync("/proc/self/fd") ? false : "only Linux tells paths of open folders",
  },
  async (t) => {
    const { base, folders } = await world(t);
    const target = await folders.resolve("a/b/file");
    await insideFolder(target, { makesMissing: false }, async (at) => {
      await rename(join(base, "session/a"), join(base, "session/was"));
      await symlink("../outside", join(base, "session/a"));
      await writeFile(at("file"), "changed");
    });
    assert.equal(await readFile(join(base, "outside/b/file"), "utf8"), "secret");
    assert.equal(await readFile(join(base, "session/was/b/file"), "utf8"), "changed");
  },
);
