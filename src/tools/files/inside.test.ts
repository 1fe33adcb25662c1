import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { SessionFolders } from "../session-folders.ts";
import { inFolder, type Way } from "./inside.ts";

/** The ways of the systems: Linux's, where this is Linux, and the other one. */
const ways: [string, Partial<Way>][] = [["by names", { descriptors: null }]];
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
    const place = await folders.place("a/b/file");
    const fresh = await folders.place("a/b/new/file");
    await rename(join(base, "session/a"), join(base, "session/was"));
    await symlink("../outside", join(base, "session/a"));
    for (const each of [place, fresh]) {
      for (const make of [true, false]) {
        const entering = inFolder(each, { make, ...way }, (at) => writeFile(at("file"), "taken"));
        await assert.rejects(entering, /became a link meanwhile|ENOENT/);
      }
    }
    assert.equal(await readFile(join(base, "outside/b/file"), "utf8"), "secret");
    if (way.descriptors !== null) assert.deepEqual(await readdir(join(base, "outside/b")), ["file"]);
  });

  test(`[P5] missing folders are made where they are wanted, and only there (${name})`, async (t) => {
    const { folders } = await world(t);
    const place = await folders.place("new/deep/file");
    await assert.rejects(
      inFolder(place, { make: false, ...way }, () => Promise.resolve()),
      /not a folder/,
    );
    await inFolder(place, { make: true, ...way }, (at) => writeFile(at("file"), "here"));
    assert.equal(await readFile(place.real, "utf8"), "here");
    const behindFile = await folders.place("a/b/file/new");
    await assert.rejects(inFolder(behindFile, { make: true, ...way }, () => Promise.resolve()));
  });
}

test(
  "[P5] a folder that becomes a link while it is worked in does not lead elsewhere",
  {
    skip: existsSync("/proc/self/fd") ? false : "only Linux tells paths of open folders",
  },
  async (t) => {
    const { base, folders } = await world(t);
    const place = await folders.place("a/b/file");
    await inFolder(place, { make: false }, async (at) => {
      await rename(join(base, "session/a"), join(base, "session/was"));
      await symlink("../outside", join(base, "session/a"));
      await writeFile(at("file"), "changed");
    });
    assert.equal(await readFile(join(base, "outside/b/file"), "utf8"), "secret");
    assert.equal(await readFile(join(base, "session/was/b/file"), "utf8"), "changed");
  },
);
