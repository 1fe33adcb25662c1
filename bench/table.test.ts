import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTable, formatValue, isOver } from "./table.ts";

test("a figure at its limit is within the limit; a figure that is not a number is not", () => {
  assert.equal(isOver({ name: "n", value: 6, unit: "ms", limit: 6 }), false);
  assert.equal(isOver({ name: "n", value: 6.01, unit: "ms", limit: 6 }), true);
  assert.equal(isOver({ name: "n", value: Number.NaN, unit: "ms", limit: 6 }), true);
  assert.equal(isOver({ name: "n", value: 6, unit: "ms" }), false);
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

test("columns are aligned, and a row over its limit is marked", () => {
  const rows = [
    { name: "first", value: 4.2, unit: "ms", limit: 6 },
    { name: "the second", value: 1234, unit: "bytes", limit: 1000, note: "why" },
    { name: "third", value: 1, unit: "x" },
  ];
  assert.equal(
    formatTable([{ bench: "b", rows }]),
    [
      "b: first         4.2  ms         ≤ 6  ok",
      "b: the second  1,234  bytes  ≤ 1,000  OVER  why",
      "b: third           1  x",
    ].join("\n"),
  );
});
