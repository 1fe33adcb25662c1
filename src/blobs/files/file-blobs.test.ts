import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { suite, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { hasCode } from "../../../testing/refusals.ts";
import { blobOfKey } from "../../../testing/children/put-blobs.ts";
import { runOnSmallDisk } from "../../../testing/small-disk.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { limits } from "../../domain/limits.ts";
import { blobStoreSuite, type OpenBlobs } from "../blob-store.suite.ts";
import { compressedBlobs } from "../compressed-blobs.ts";
import type { BlobStore } from "../blob-store.ts";
import { fileBlobs } from "./file-blobs.ts";
import { DurableFolders } from "./durable-folders.ts";

function openFiles(wrap: (store: BlobStore) => BlobStore) {
  return async (context: TestContext): Promise<OpenBlobs> => {
    const folder = join(await temporaryFolder(context), "blobs");
    const reopen = (): BlobStore => wrap(fileBlobs({ folder }));
    return { store: reopen(), reopen };
  };
}

blobStoreSuite(
  "blobs in files",
  openFiles((store) => store),
);
blobStoreSuite("blobs in files, compressed", openFiles(compressedBlobs));

const child = (name: string): string => fileURLToPath(new URL(`../../../testing/children/${name}`, import.meta.url));
const bytes = Buffer.from("bytes");

/** Opens a store in a folder, beside an empty folder that the store must not touch. */
async function openWithOutside(context: TestContext) {
  const parent = await temporaryFolder(context);
  const [folder, outside] = [join(parent, "blobs"), join(parent, "outside")];
  const store = fileBlobs({ folder });
  await mkdir(outside);
  return { store, folder, outside };
}

const failed = hasCode("storage_failed");

suite("the files of blobs", () => {
  test("[B1] [B6] a blob is the file of its key, 0600 in folders 0700", async (context) => {
    const folder = join(await temporaryFolder(context), "data", "blobs");
    await fileBlobs({ folder }).put("turns/1/run.json", bytes);
    assert.deepEqual(await readFile(join(folder, "turns/1/run.json")), bytes);
    const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;
    assert.equal(await modeOf(join(folder, "turns/1/run.json")), 0o600);
    for (const path of ["..", "", "~aside", "turns", "turns/1"]) {
      assert.equal(await modeOf(join(folder, path)), 0o700, path);
    }
  });

  test("[B1] deleting the last blob of a folder deletes the folder", async (context) => {
    const { store, folder } = await openWithOutside(context);
    await store.put("turns/1/a", bytes);
    await store.put("turns/2/a", bytes);
    await store.delete("turns/1/a");
    assert.deepEqual(await readdir(join(folder, "turns")), ["2"]);
    await store.delete("turns/2/a");
    assert.deepEqual(await readdir(folder), ["~aside"]);
  });

  test("[B1] syncing a folder that was deleted in the meantime is no error", async (context) => {
    const folders = new DurableFolders(await temporaryFolder(context));
    const toSync = await folders.make("turns/1");
    await folders.prune("turns/1");
    await folders.sync(toSync);
  });

  test("[B1] no temporary file is left, and a crashed writer's file is never a blob and is removed when old", async (context) => {
    const { store, folder } = await openWithOutside(context);
    await Promise.all(Array.from({ length: 20 }, (_, index) => store.put(`turns/1/${index % 4}`, bytes)));
    assert.deepEqual(await readdir(join(folder, "~aside")), []);
    for (const name of ["old", "new"]) await writeFile(join(folder, "~aside", name), "half a bl");
    const before = new Date(Date.now() - limits.abandonedFileAgeMs - 60_000);
    await utimes(join(folder, "~aside", "old"), before, before);
    const reopened = fileBlobs({ folder });
    assert.deepEqual(await readdir(join(folder, "~aside")), ["new"]);
    assert.deepEqual((await reopened.list("")).toSorted(), ["turns/1/0", "turns/1/1", "turns/1/2", "turns/1/3"]);
  });

  test("[B1] a folder that is a symbolic link is not followed", async (context) => {
    const { store, folder, outside } = await openWithOutside(context);
    await writeFile(join(outside, "secret"), "secret");
    await symlink(outside, join(folder, "turns"));
    await assert.rejects(store.get("turns/secret"), failed);
    await assert.rejects(store.size("turns/secret"), failed);
    await assert.rejects(store.put("turns/secret", bytes), failed);
    await assert.rejects(store.put("turns/deeper/secret", bytes), failed);
    await assert.rejects(store.delete("turns/secret"), failed);
    await assert.rejects(store.list("turns/"), failed);
    assert.deepEqual(await store.list(""), []);
    assert.deepEqual(await readdir(outside), ["secret"]);
    assert.equal(await readFile(join(outside, "secret"), "utf8"), "secret");
  });

  test("[B1] a file that is a symbolic link is neither read nor written, nor is its target", async (context) => {
    const { store, folder, outside } = await openWithOutside(context);
    await writeFile(join(outside, "secret"), "secret");
    await symlink(join(outside, "secret"), join(folder, "a"));
    await assert.rejects(store.get("a"), failed);
    assert.equal(await store.size("a"), null);
    assert.deepEqual(await store.list(""), []);
    await store.delete("a");
    await assert.rejects(store.put("a", bytes), failed);
    assert.deepEqual((await readdir(folder)).toSorted(), ["a", "~aside"]);
    assert.equal(await readFile(join(outside, "secret"), "utf8"), "secret");
  });

  test("[B1] a blob at the path of a needed folder fails the put and stays", async (context) => {
    const { store, folder } = await openWithOutside(context);
    await store.put("a", bytes);
    await assert.rejects(store.put("a/b", bytes), failed);
    assert.deepEqual(await store.get("a"), bytes);
    assert.throws(() => fileBlobs({ folder: join(folder, "a") }), failed);
  });

  test("[B3] kill -9 of a writer leaves every blob whole or absent, and every acknowledged one whole", async (context) => {
    const folder = await temporaryFolder(context);
    const acknowledged: string[] = [];
    for (const acksBeforeKill of [1, 5, 17, 40]) {
      acknowledged.push(...(await acksUntilKilled(folder, 1 + acknowledged.length, acksBeforeKill)));
      const store = fileBlobs({ folder: join(folder, "blobs") });
      const keys = await store.list("");
      for (const key of keys) assert.deepEqual(await store.get(key), blobOfKey(key), key);
      for (const key of acknowledged) assert.ok(keys.includes(key), `${key} was lost`);
    }
  });

  test("[B1] [B4] on a file system without links a blob gets its name in the same way, once", async (context) => {
    const { store, folder } = await openWithOutside(context);
    const refusing = context.mock.method(fs, "linkSync", () => {
      throw Object.assign(new Error("EPERM: operation not permitted, link"), { code: "EPERM" });
    });
    syncBuiltinESMExports();
    try {
      await store.put("turns/1/a", bytes);
      await store.put("turns/1/a", bytes);
      await assert.rejects(store.put("turns/1/a", Buffer.from("other")), hasCode("blob_exists"));
    } finally {
      refusing.mock.restore();
      syncBuiltinESMExports();
    }
    assert.equal(refusing.mock.callCount(), 3);
    assert.deepEqual(await store.get("turns/1/a"), bytes);
    assert.deepEqual(await readdir(join(folder, "~aside")), []);
  });

  test("[B3] a full disk is storage_full, and no acknowledged blob is harmed", (context) =>
    runOnSmallDisk(context, child("fill-blobs.ts"), "size=300k"));

  test("[B3] a disk without room for another file is storage_full too", (context) =>
    runOnSmallDisk(context, child("fill-blobs.ts"), "size=380k,nr_inodes=30"));
});

/** Runs the writing child, kills it after this many acknowledgements, and returns the keys that were acknowledged. */
async function acksUntilKilled(folder: string, firstVersion: number, acks: number): Promise<string[]> {
  const writer = spawn(process.execPath, [child("put-blobs.ts"), folder, String(firstVersion)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const acknowledged: string[] = [];
  for await (const key of createInterface({ input: writer.stdout })) {
    acknowledged.push(key);
    if (acknowledged.length === acks) writer.kill("SIGKILL");
  }
  assert.ok(acknowledged.length >= acks, "the writer ended by itself");
  return acknowledged;
}
