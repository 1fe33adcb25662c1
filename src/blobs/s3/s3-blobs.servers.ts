/** The blobs on a real S3 server (`npm run test:services`). */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { createBucket, startRadosgw, type TestRadosgw } from "../../../testing/servers/radosgw.ts";
import { blobStoreSuite, type OpenBlobs } from "../blob-store.suite.ts";
import type { BlobStore } from "../blob-store.ts";
import { compressedBlobs } from "../compressed-blobs.ts";
import { s3Blobs } from "./s3-blobs.ts";

let server: TestRadosgw;
before(async () => {
  server = await startRadosgw();
});
after(() => server.stop());

async function openBucket(wrap: (store: BlobStore) => BlobStore): Promise<OpenBlobs & { reopen: () => BlobStore }> {
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const url = `s3://${await createBucket(server)}/team`;
  const credentials = { accessKeyId, secretAccessKey, sessionToken: null };
  const reopen = (): BlobStore => wrap(s3Blobs({ url, endpoint, region, pathStyle: null, credentials }));
  return { store: reopen(), reopen };
}

blobStoreSuite("blobs in Ceph's S3", () => openBucket((store) => store));
blobStoreSuite("blobs in Ceph's S3, compressed", () => openBucket(compressedBlobs));

suite("a gateway of S3 that stops", () => {
  const bytes = Buffer.from("the bytes of a blob ".repeat(1_000));
  const keys = Array.from({ length: 40 }, (_, index) => `turns/${index}/run`);

  test("[B3] [B1] a server that is killed and started again during writes has every acknowledged blob, whole", async () => {
    const { store, reopen } = await openBucket((plain) => plain);
    await store.put("first", bytes);
    const puts = Promise.all(keys.map((key) => store.put(key, bytes)));
    await server.kill();
    await server.start();
    await puts;
    for (const key of keys) assert.deepEqual(await reopen().get(key), bytes, key);
    await assert.rejects(reopen().put("first", Buffer.from("other")), { code: "blob_exists" });
  });

  test("[B3] a server that is silent for a while costs time and no blob", async () => {
    const { store } = await openBucket((plain) => plain);
    await store.put("first", bytes);
    server.pause();
    const puts = Promise.all(keys.map((key) => store.put(key, bytes)));
    setTimeout(() => server.resume(), 300);
    await puts;
    assert.deepEqual((await store.list("turns/")).toSorted(), keys.toSorted());
  });

  test("[B1] a list covers several pages of the server", async () => {
    const { store } = await openBucket((plain) => plain);
    const many = Array.from({ length: 1_050 }, (_, index) => `turns/${index}/opening`);
    const left = many.values();
    const writer = async (): Promise<void> => {
      for (const key of left) await store.put(key, new Uint8Array());
    };
    await Promise.all(Array.from({ length: 16 }, writer));
    assert.deepEqual((await store.list("turns/")).toSorted(), many.toSorted());
  });
});
