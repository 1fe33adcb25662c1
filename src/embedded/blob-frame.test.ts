import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import { plainFrame } from "../records/sql/sqlite/sealed/frames.ts";
import { packBlob, unpackBlob } from "./blob-frame.ts";

const key = "turns/00000000-0000-7000-8000-000000000000/opening.json";

test("[B1] a frame that is not compressed is one that any zstd reads", () => {
  for (const length of [0, 1, 255, 256, 8_192, 131_072]) {
    const bytes = randomBytes(length);
    assert.deepEqual(zstdDecompressSync(plainFrame(bytes)), bytes);
  }
});

test("[K5] a short blob of a running turn is stored as it is; a long one and one that is kept are compressed", async () => {
  const [short, long] = [Buffer.from("words ".repeat(100)), Buffer.from("words ".repeat(2_000))];
  const lengths = await Promise.all(
    [packBlob(short, { isKept: false }), packBlob(short), packBlob(long, { isKept: false })].map(
      async (packed) => (await packed).length,
    ),
  );
  assert.equal(lengths[0], short.length + 16);
  assert.ok((lengths[1] ?? 0) < 100 && (lengths[2] ?? 0) < 100, lengths.join());
});

test("[B3] every flipped bit of a blob that stands alone is found", async () => {
  const bytes = Buffer.from('{"format":1,"instruction":"Say hello."}');
  for (const isKept of [true, false]) {
    const packed = await packBlob(bytes, { isKept });
    assert.deepEqual(await unpackBlob(key, packed), bytes);
    for (let bit = 0; bit < packed.length * 8; bit += 1) {
      const flipped = Buffer.from(packed);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      await assert.rejects(unpackBlob(key, flipped), { code: "blob_damaged" });
    }
  }
});
