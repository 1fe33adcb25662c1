import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurn, medianRatio } from "./rows.ts";
import { formatTable, formatValue, isMissed } from "./table.ts";

test("a figure at its limit keeps it; a figure that is not a number does not", () => {
  assert.equal(isMissed({ name: "n", value: 6, unit: "ms", limit: 6 }), false);
  assert.equal(isMissed({ name: "n", value: 6.01, unit: "ms", limit: 6 }), true);
  assert.equal(isMissed({ name: "n", value: Number.NaN, unit: "ms", limit: 6 }), true);
  assert.equal(isMissed({ name: "n", value: 6, unit: "ms" }), false);
});

test("the limit is for the ratio if there is one, and may be the least", () => {
  assert.equal(isMissed({ name: "n", value: 60, unit: "ms", ratio: 2, limit: 2.5 }), false);
  assert.equal(isMissed({ name: "n", value: 2, unit: "ms", ratio: 3, limit: 2.5 }), true);
  assert.equal(isMissed({ name: "n", value: 299, unit: "/s", limit: 300, isLeast: true }), true);
  assert.equal(isMissed({ name: "n", value: 300, unit: "/s", limit: 300, isLeast: true }), false);
});

test("figures have three significant digits, and all before the point", () => {
  assert.deepEqual([0, 0.01234, 1.2345, 12.345, 123.45, 12_345.6, Number.NaN].map(formatValue), [
    "0",
    "0.012",
    "1.23",
    "12.3",
    "123",
    "12,346",
    "NaN",
  ]);
});

test("columns are aligned, and each row says whether its limit is kept", () => {
  const rows = [
    { name: "first", value: 4.2, unit: "ms", limit: 6, aim: 5 },
    { name: "the second", value: 1234, unit: "ms", ratio: 3.2, limit: 2.5, aim: 2, note: "why" },
    { name: "third", value: 1, unit: "x" },
    { name: "fourth", value: 350, unit: "/s", limit: 300, aim: 500, isLeast: true },
    { name: "fifth", value: Number.NaN, unit: "syncs", note: "no strace" },
  ];
  assert.equal(
    formatTable([{ bench: "b", rows }]),
    [
      "                 value      ratio   must            aim",
      "b: first           4.2  ms           ≤ 6  ok        ≤ 5",
      "b: the second    1,234  ms  3.2 ×  ≤ 2.5  missed    ≤ 2  why",
      "b: third             1  x",
      "b: fourth          350  /s         ≥ 300  ok      ≥ 500",
      "b: fifth       not run                                   no strace",
    ].join("\n"),
  );
});

test("a ratio is the median of those of the rounds, and each round begins with another", () => {
  assert.equal(medianRatio([20, 6, 40], [10, 2, 10]), 3);
  assert.deepEqual(
    [0, 1, 2, 3].map((round) => inTurn(["a", "b", "c"], round).join("")),
    ["abc", "bca", "cab", "abc"],
  );
});
