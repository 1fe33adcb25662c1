import assert from "node:assert/strict";
import { test } from "node:test";
import { fileTreeText } from "./tree.ts";

const paths = ["README.md", "src/a.ts", "src/deep/b.ts", "src/deep/c.ts", "test/x.ts"];

test("[P5] a tree that fits is shown whole, folders first", () => {
  const { lines, hasClosed } = fileTreeText(paths, { entriesMax: 100, depthMax: 100 });
  const whole = ["src/", "  deep/", "    b.ts", "    c.ts", "  a.ts", "test/", "  x.ts", "README.md"];
  assert.deepEqual(lines, whole);
  assert.equal(hasClosed, false);
});

test("[P5] folders that do not fit or are too deep are closed and counted", () => {
  const shallow = fileTreeText(paths, { entriesMax: 100, depthMax: 1 });
  assert.deepEqual(shallow, { lines: ["src/ (3 files)", "test/ (1 file)", "README.md"], hasClosed: true });
  const narrow = fileTreeText(paths, { entriesMax: 5, depthMax: 100 });
  assert.deepEqual(narrow.lines, ["src/", "  deep/ (2 files)", "  a.ts", "test/ (1 file)", "README.md"]);
});

test("[P5] a folder that alone exceeds the limit is cut", () => {
  const many = Array.from({ length: 1_000 }, (_, index) => `f${index}`);
  const { lines } = fileTreeText(many, { entriesMax: 10, depthMax: 100 });
  assert.equal(lines.length, 11);
  assert.equal(lines.at(-1), "… and 990 more");
});
