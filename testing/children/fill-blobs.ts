/** Fills a disk with blobs, and asserts what a full disk must not do to them. The argument is the folder. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "../refusals.ts";
import { fileBlobs } from "../../src/blobs/files/file-blobs.ts";

const folder = join(process.argv[2] ?? "", "blobs");
const store = fileBlobs({ folder });
const acknowledged = new Map<string, Uint8Array>();

async function put(key: string, bytes: Uint8Array): Promise<void> {
  await store.put(key, bytes);
  acknowledged.set(key, bytes);
}

async function assertAllIntact(): Promise<void> {
  assert.deepEqual((await store.list("")).toSorted(), [...acknowledged.keys()].toSorted());
  for (const [key, bytes] of acknowledged) assert.deepEqual(await store.get(key), bytes, key);
  assert.deepEqual(await readdir(join(folder, "~aside")), []);
}

await put("kept/state", randomBytes(2_000));
const fill = async (): Promise<void> => {
  for (let turn = 1; turn < 1_000; turn += 1) await put(`turns/${turn}/run`, randomBytes(10_000));
};
await assert.rejects(fill(), hasCode("storage_full"));
assert.ok(acknowledged.size > 3, "the disk was too small to begin with");
await assertAllIntact();

// A blob in a folder that already exists fails in the same way.
await assert.rejects(store.put("kept/other", randomBytes(400_000)), hasCode("storage_full"));
await assertAllIntact();

// As soon as there is room, the store accepts blobs again.
for (const key of [...acknowledged.keys()].slice(1, 4)) {
  await store.delete(key);
  acknowledged.delete(key);
}
await put("kept/later", randomBytes(3_000));
await assertAllIntact();
