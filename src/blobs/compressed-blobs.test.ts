/** Tests of the bytes on the medium. The conformance suite runs over `compressed` in the tests of the drivers. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { suite, test } from "node:test";
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { hasCode } from "../../testing/refusals.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { compressedBlobs } from "./compressed-blobs.ts";
import { memoryBlobs } from "./memory/memory-blobs.ts";

const key = "turns/1/state.json";
const content = Buffer.from(
  JSON.stringify({ format: 1, items: ["Where is the head moved? ", "In finishTurn."] }).repeat(4),
);

function open() {
  const inner = memoryBlobs();
  return { inner, store: compressedBlobs(inner) };
}

async function kept(bytes: Uint8Array): Promise<Uint8Array> {
  const { inner, store } = open();
  await store.put(key, bytes);
  const packed = await inner.get(`${key}.zst`);
  assert.ok(packed !== null);
  return packed;
}

async function assertDamaged(packed: Uint8Array, what: string): Promise<void> {
  const { inner, store } = open();
  await inner.put(`${key}.zst`, packed);
  await assert.rejects(store.get(key), isError("blob_damaged"), what);
}

function isError(code: ErrorCode) {
  return hasCode(code, /turns\/1\/state\.json/);
}

/** Returns a blob whose checksum is right, but which states `length` as the length of its content. */
function forged(frame: Uint8Array, length: number): Uint8Array {
  const trailer = Buffer.alloc(16);
  trailer.writeUInt32LE(0x184d2a50, 0);
  trailer.writeUInt32LE(8, 4);
  trailer.writeUInt32LE(length, 8);
  trailer.writeUInt32LE(crc32(Buffer.concat([frame, trailer.subarray(0, 12)])), 12);
  return Buffer.concat([frame, trailer]);
}

suite("compressed blobs", () => {
  test("[B1] content that was compressed differently is the same blob, and other content is another", async () => {
    const { inner, store } = open();
    const packed = forged(
      zstdCompressSync(content, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
      content.length,
    );
    assert.notDeepEqual(packed, await kept(content));
    await inner.put(`${key}.zst`, packed);
    await store.put(key, content);
    assert.deepEqual(await inner.get(`${key}.zst`), new Uint8Array(packed));
    await assert.rejects(store.put(key, content.subarray(1)), isError("blob_exists"));
  });

  test("[B1] the bytes on the medium are those of the first version", async () => {
    // Stored data outlives the program. This test fails if a change of the format would make old data unreadable.
    const golden = Buffer.from("KLUv/SQFKQAAaGVsbG+jbZ+IUCpNGAgAAAAFAAAAeNwy+A==", "base64");
    const { inner, store } = open();
    await inner.put(`${key}.zst`, golden);
    assert.equal(Buffer.from((await store.get(key)) ?? "").toString(), "hello");
  });

  test("[B1] any zstd reads the blob, and its checksum is in the frame", async (context) => {
    for (const bytes of [content, randomBytes(100_000)]) {
      const packed = await kept(bytes);
      assert.deepEqual(zstdDecompressSync(packed), bytes);
      assert.equal((packed[4] ?? 0) & 0b100, 0b100, "the frame has no checksum");
    }
    const zstd = spawnSync("zstd", ["-dc"], { input: await kept(content) });
    if (zstd.error !== undefined) return context.skip("the zstd command is not installed");
    assert.deepEqual(zstd.stdout, content);
    assert.equal(zstd.status, 0);
  });

  test("[B3] every flipped bit is detected", async () => {
    for (const bytes of [content, Buffer.alloc(0), Buffer.from("a"), Buffer.alloc(5_000), randomBytes(100)]) {
      const packed = await kept(bytes);
      for (let bit = 0; bit < packed.length * 8; bit += 1) {
        const flipped = new Uint8Array(packed);
        flipped[bit >> 3] = (packed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        await assertDamaged(flipped, `bit ${bit & 7} of byte ${bit >> 3} of ${packed.length}`);
      }
    }
  });

  test("[B3] a blob that was cut, extended or replaced is detected", async () => {
    const packed = await kept(content);
    for (let length = 0; length < packed.length; length += 1) {
      await assertDamaged(packed.subarray(0, length), `cut to ${length}`);
    }
    await assertDamaged(Buffer.concat([packed, Buffer.alloc(1)]), "one more byte");
    await assertDamaged(Buffer.concat([packed, packed]), "twice");
    await assertDamaged(content, "not compressed");
    await assertDamaged(new Uint8Array(packed.length), "zeros, as a file system may leave them");
    await assertDamaged(zstdCompressSync(content), "a frame without our trailer");
  });

  test("[B3] a blob that unpacks to another length than stated, or to too much, is refused", async () => {
    const params = { [constants.ZSTD_c_checksumFlag]: 1 };
    const bomb = zstdCompressSync(Buffer.alloc(50_000_000), { params });
    assert.ok(bomb.length < 10_000);
    const before = process.memoryUsage().arrayBuffers;
    for (const length of [0, 1, 1_000, 100_000, 50_000_001]) {
      await assertDamaged(forged(bomb, length), `says ${length}`);
    }
    await assertDamaged(forged(bomb, limits.blobBytesMax + 1), "says more than the limit");
    await assertDamaged(forged(bomb, 0xffff_ffff), "says as much as it can");
    assert.ok(process.memoryUsage().arrayBuffers - before < 120_000_000, "the bomb was unpacked");
  });

  test("[B1] a put of a blob that could not be read back is refused", async () => {
    const { inner, store } = open();
    // The system provides no memory for pages that are never touched.
    const tooMuch = new Uint8Array(limits.blobBytesMax + 1);
    await assert.rejects(store.put(key, tooMuch), isError("storage_failed"));
    assert.deepEqual(await inner.list(""), []);
  });

  test("[B1] foreign blobs in the same store are neither listed nor read", async () => {
    const { inner, store } = open();
    await inner.put("turns/1/other", Buffer.from("x"));
    await store.put("turns/1/a", content);
    assert.deepEqual(await store.list(""), ["turns/1/a"]);
    assert.deepEqual(await store.list("turns/1/a.z"), []);
    assert.equal(await store.get("turns/1/other"), null);
  });
});
