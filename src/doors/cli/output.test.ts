import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../testing/any-character.ts";
import { dollars, duration, firstLine, neutralize } from "./output.ts";

test("[L1] neutralised text holds no control character but line feed and tab, and loses no other", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const safe = neutralize(text);
      assert.doesNotMatch(safe, /[^\P{Cc}\n\t]/u);
      const plain = (each: string): string =>
        each.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2400-\u241f\ufffd]/gu, "");
      assert.equal(plain(safe), plain(text));
    }),
  );
});

test("[L1] a line is cut by characters, never inside one", () => {
  assert.equal(firstLine("\n  \n first \r\nsecond", 20), "first");
  assert.equal(firstLine("👍👍👍👍", 3), "👍👍…");
  assert.equal(firstLine("", 3), "");
});

test("[L1] durations are printed in a suitable unit", () => {
  assert.deepEqual([duration(12.4), duration(1_250), duration(125_000)], ["12 ms", "1.3 s", "2 min 5 s"]);
});

test("[L1] an amount of money has four digits after the point", () => {
  assert.deepEqual([0.012_34, 1, 0.1 + 0.2].map(dollars), ["$0.0123", "$1.0000", "$0.3000"]);
});
