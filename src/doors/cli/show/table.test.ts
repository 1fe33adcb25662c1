/** Rows in columns, in a pipe and on terminals of any width. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cellsOf } from "../terminal/cells.ts";
import { tableLines } from "./table.ts";

const rows = [
  ["a1", "2026-11-23 10:00", "completed", "a name of some words that is rather long for a list"],
  ["b22", "2026-11-23 10:01", "failed", "short"],
];

test("[L1] columns are aligned, the last one ragged; wide characters count as two cells", () => {
  const lines = tableLines(
    [
      ["a", "b"],
      ["long", "c"],
      ["漢字", "d"],
    ],
    { width: null },
  );
  assert.deepEqual(lines, ["a     b", "long  c", "漢字  d"]);
});

test("[L1] on a terminal a row of a list is one line: spare columns are left out, the last one is cut", () => {
  const fit = { spare: [1, 2], last: "cut" } as const;
  assert.deepEqual(tableLines(rows, { ...fit, width: 76 }), [
    "a1   2026-11-23 10:00  completed  a name of some words that is rather long …",
    "b22  2026-11-23 10:01  failed     short",
  ]);
  assert.deepEqual(tableLines(rows, { ...fit, width: 40 }), ["a1   a name of some words that is rathe…", "b22  short"]);
});

test("[L1] a text that is too long continues below itself, and no word is broken that fits a line", () => {
  assert.deepEqual(tableLines([["name", "one two three four five six"]], { width: 22 }), [
    "name  one two three",
    "      four five six",
  ]);
  assert.deepEqual(tableLines([["a long first column", "one two three four"]], { width: 24 }), [
    "a long first column",
    "    one two three four",
  ]);
});

test("[L1] a last column without text has no line of its own, however long the others are", () => {
  const given = [
    ["a first column that is long", "b", ""],
    ["a", "b", "c"],
  ];
  assert.deepEqual(tableLines(given, { width: 30 }).slice(0, 1), ["a first column that is long  b"]);
  assert.ok(!tableLines(given, { width: 30 }).includes(""));
});

test("[L1] no line is wider than the terminal, whatever the rows are", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", "b", " ", "漢", "é", "."), maxLength: 30 });
  const table = fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 });
  fc.assert(
    fc.property(table, fc.integer({ min: 40, max: 120 }), fc.constantFrom("cut", "wrap"), (given, width, last) => {
      for (const line of tableLines(given, { width, spare: [1], last: last as "cut" })) {
        assert.ok(cellsOf(line) <= width, JSON.stringify(line));
      }
    }),
  );
});
