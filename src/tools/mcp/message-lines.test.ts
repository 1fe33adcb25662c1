import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { limits } from "../../domain/limits.ts";
import { MessageLines } from "./message-lines.ts";

test("[P5] lines are the same, however the bytes are split", () => {
  const line = fc
    .string({ unit: "grapheme", minLength: 1 })
    .filter((each) => each.trim() === each && !/[\n\r]/.test(each));
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom("\n", "\r\n"), fc.array(fc.nat()), (lines, end, cuts) => {
      const bytes = Buffer.from(lines.map((each) => `${each}${end}`).join(""));
      const places = [
        0,
        ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((one, other) => one - other),
        bytes.length,
      ];
      const reader = new MessageLines();
      const read = places
        .slice(1)
        .flatMap((target, at) => reader.push(bytes.subarray(places[at], target)) ?? ["too long"]);
      assert.deepEqual(read, lines);
    }),
  );
});

test("[P5] a line that is too long is not kept", () => {
  const reader = new MessageLines();
  const half = Buffer.alloc(limits.mcpMessageBytesMax / 2, "x");
  assert.deepEqual(reader.push(half), []);
  assert.deepEqual(reader.push(half), []);
  assert.equal(reader.push(Buffer.from("x")), null);
});
