import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OutputTail } from "./output-tail.ts";

test("[P5] the end of an output of any length is kept, in whole characters", () => {
  const pieces = fc.array(fc.string({ unit: "grapheme", maxLength: 8 }), { maxLength: 40 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 4, max: 64 }), (texts, bytesMax) => {
      const tail = new OutputTail(bytesMax);
      // Split anywhere, even inside a character, as a pipe does.
      for (const byte of Buffer.from(texts.join(""))) tail.add(Buffer.from([byte]));
      const whole = texts.join("");
      const bytes = Buffer.byteLength(whole);
      assert.equal(tail.isCut, bytes > bytesMax);
      assert.ok(whole.endsWith(tail.text()));
      assert.ok(Buffer.byteLength(tail.text()) > Math.min(bytes, bytesMax) - 4);
      assert.ok(Buffer.byteLength(tail.text()) <= bytesMax);
      assert.equal(tail.bytes, bytes);
    }),
  );
});
