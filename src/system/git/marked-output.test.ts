import assert from "node:assert/strict";
import { test } from "node:test";
import { MarkedOutput } from "./marked-output.ts";

const mark = "0123456789abcdef0123456789abcdef";

/** Adds the bytes in pieces of each size from one byte to all of them, and returns what came of each. */
function inPieces(written: Buffer, bytesMax = 1_024) {
  return Array.from({ length: written.length }, (_, at) => {
    const output = new MarkedOutput(mark, { bytesMax });
    for (let from = 0; from < written.length; from += at + 1) output.add(written.subarray(from, from + at + 1));
    return output;
  });
}

test("the text between the marks and the exit code are the same, wherever the pieces are cut", () => {
  const text = `é\n${mark}${mark.slice(0, 8)}\0no end`;
  for (const output of inPieces(Buffer.from(`of others${mark.slice(0, 20)}${mark}\n${text}${mark} 128\n`))) {
    assert.deepEqual([output.hasBegun, output.text, output.exit, output.hasMore], [true, text, 128, false]);
  }
});

test("without the first mark there is an exit code and no beginning; what follows the end is noticed", () => {
  for (const output of inPieces(Buffer.from(`cannot enter the folder\n${mark} 2\n`))) {
    assert.deepEqual([output.hasBegun, output.exit], [false, 2]);
  }
  for (const output of inPieces(Buffer.from(`${mark}\nyes${mark} 0\nlate`))) {
    assert.deepEqual([output.text, output.exit, output.hasMore], ["yes", 0, true]);
  }
});

test("a text that is too long is not kept, and one of the greatest length is", () => {
  for (const output of inPieces(Buffer.from(`${mark}\n${"x".repeat(100)}${mark} 0\n`), 99)) {
    assert.equal(output.isTooLong, true);
    assert(output.text.length <= 99);
  }
  for (const output of inPieces(Buffer.from(`${mark}\n${"x".repeat(99)}${mark} 0\n`), 99)) {
    assert.deepEqual([output.isTooLong, output.text.length], [false, 99]);
  }
});

test("everything is passed on where that is wanted, and nothing is kept", () => {
  const written = Buffer.from(`${mark}\n${"é".repeat(100)}${mark} 0\n`);
  for (let size = 1; size <= written.length; size += 1) {
    let passed = "";
    const output = new MarkedOutput(mark, { bytesMax: 1, onText: (text) => (passed += text) });
    for (let from = 0; from < written.length; from += size) output.add(written.subarray(from, from + size));
    assert.deepEqual([passed, output.text, output.exit, output.isTooLong], ["é".repeat(100), "", 0, false]);
  }
});
