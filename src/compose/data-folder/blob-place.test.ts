/** The place of the contents of conversations, and settings that contradict what a data folder has (B1). */
import assert from "node:assert/strict";
import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { cliWorld } from "../../../testing/cli.ts";

const hasFolder = ({ dataDir }: { dataDir: string }): boolean => existsSync(join(dataDir, "blobs"));

async function filled(t: TestContext, store?: "files") {
  const world = await cliWorld(t);
  const env = store === undefined ? {} : { APTOVE_BLOBS_STORE: store };
  const { exit, stderr } = await world.run(["ask", "hello", "--new"], { env });
  assert.equal(exit, 0, stderr);
  return world;
}

test("[B1] a new data folder has everything in its database; one with files goes on with them, without a setting", async (t) => {
  const [fresh, files] = [await filled(t), await filled(t, "files")];
  assert.deepEqual([hasFolder(fresh), hasFolder(files)], [false, true]);
  for (const world of [fresh, files]) {
    assert.equal((await world.run(["ask", "-c", "more"])).exit, 0);
    assert.match((await world.run(["session", "verify"])).stdout, /^2 turns verified/);
  }
  assert.deepEqual([hasFolder(fresh), hasFolder(files)], [false, true]);
});

test("[B1] [B2] a data folder of version 0.1.0 goes on as files", async (t) => {
  const world = await cliWorld(t);
  const kept = fileURLToPath(new URL("../../../testing/fixtures/data-0.1.0/folder", import.meta.url));
  cpSync(kept, world.dataDir, { recursive: true });
  assert.equal((await world.run(["session", "list"])).exit, 0);
  assert.equal(hasFolder(world), true);
});

test("[B1] a setting that contradicts the data folder is refused, and changes nothing", async (t) => {
  const s3 = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b", APTOVE_BLOBS_ENDPOINT: "http://127.0.0.1:1" };
  for (const [store, env] of [
    ["files", { APTOVE_BLOBS_STORE: "database" }],
    ["database", { APTOVE_BLOBS_STORE: "files" }],
    ["database", { APTOVE_BLOBS_URL: "s3://bucket/a", ...s3 }],
  ] as const) {
    const world = await filled(t, store === "files" ? store : undefined);
    const { exit, stderr } = await world.run(["session", "list"], { env });
    assert.equal(exit, 1);
    const place = store === "files" ? "blobs" : "records.db";
    assert.match(stderr, new RegExp(`are in .*${place}; remove the setting.*config_invalid`));
    assert.equal(hasFolder(world), store === "files");
    assert.equal((await world.run(["session", "verify"])).exit, 0);
  }
});

test("[B1] a bucket, and records in PostgreSQL, keep their blobs outside the database", async (t) => {
  const { blobPlace } = await import("./blob-place.ts");
  const { load } = await import("../../../testing/configuration.ts");
  const { dataFolderAt } = await import("../../configuration/data-folder.ts");
  const of = async (overrides: Record<string, unknown>): Promise<string> => {
    const { configuration, file } = await load(t, { overrides });
    return blobPlace(configuration, dataFolderAt(join(file, "..")));
  };
  const records = { url: "postgres://u:p@localhost/db" };
  assert.equal(await of({}), "database");
  assert.equal(await of({ blobs: { store: "files" } }), "files");
  assert.equal(await of({ blobs: { url: "s3://bucket/a", store: "database" } }), "bucket");
  assert.equal(await of({ records }), "files");
  await assert.rejects(of({ records, blobs: { store: "database" } }), { code: "config_invalid" });
  const world = await filled(t, "files");
  rmSync(join(world.dataDir, "blobs"), { recursive: true });
  assert.match((await world.run(["session", "list"])).stderr, /the folder blobs is gone.*blobs_foreign/);
});
