import assert from "node:assert/strict";
import { test } from "node:test";
import { GrowingBytes } from "./growing-bytes.ts";

test("[D3] bytes that grow piece by piece are the pieces in their order, whatever is added after a reading", () => {
  const bytes = new GrowingBytes();
  assert.equal(bytes.all.length, 0);
  const all: number[] = [];
  const read: [Buffer, number[]][] = [];
  for (const length of [1, 0, 700, 3, 5_000]) {
    const piece = new Uint8Array(length).map((_, at) => at + length);
    all.push(...piece);
    bytes.add(piece);
    piece.fill(0);
    read.push([bytes.all, [...all]]);
  }
  for (const [found, expected] of read) assert.deepEqual([...found], expected);
});
