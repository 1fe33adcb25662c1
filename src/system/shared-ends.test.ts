import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sharedEnd, sharedStart } from "./shared-ends.ts";

/** Texts that differ in few places, with characters of one and of two code units. */
const text = fc
  .array(fc.constantFrom("a", "b", "é", "中", "😀", "\ud83d"), { maxLength: 80 })
  .map((characters) => characters.join(""));

test("[K3] [K6] what two texts have in common at their beginnings and ends is what a comparison of each code unit finds", () => {
  const startOf = (a: string, b: string, most = Math.min(a.length, b.length)): number => {
    let same = 0;
    while (same < most && a[same] === b[same]) same += 1;
    return same;
  };
  const reversed = (one: string): string => one.split("").toReversed().join("");
  const pairs = fc.record({ shared: text, x: text, y: text, room: fc.nat(100) });
  fc.assert(
    fc.property(pairs, ({ shared, x, y, room }) => {
      for (const [a, b] of [
        [x, y],
        [shared + x, shared + y],
        [x + shared, y + shared],
      ] as const) {
        assert.equal(sharedStart(a, b), startOf(a, b));
        assert.equal(sharedEnd(a, b), startOf(reversed(a), reversed(b)));
        const most = Math.min(a.length, b.length, room);
        assert.equal(sharedEnd(a, b, most), startOf(reversed(a), reversed(b), most));
      }
    }),
  );
});
