import assert from "node:assert/strict";
import { test } from "node:test";
import { groupedNumber } from "./grouped-number.ts";

test("a whole number gets commas as English writes them", () => {
  for (const value of [0, 7, 999, 1_000, 12_345, 999_999, 1_000_000, 1_234_567_890]) {
    assert.equal(groupedNumber(value), value.toLocaleString("en"));
  }
});
