import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { limits } from "../../domain/limits.ts";
import { shownChange } from "./file-change.ts";

test("[P5] a change shows the lines that differ and three around them", () => {
  const before = Array.from({ length: 20 }, (_, index) => `${index + 1}\n`);
  const after = before.with(9, "ten\n");
  const { content, line } = shownChange({ path: "/a", before: before.join(""), after: after.join("") });
  assert.equal(line, 10);
  const newText = "7\n8\n9\nten\n11\n12\n13\n";
  assert.deepEqual(content, [{ type: "diff", path: "/a", oldText: newText.replace("ten", "10"), newText }]);
});

test("[P5] a shown change, applied to the old lines, gives the new text", () => {
  const text = fc.array(fc.constantFrom("a\n", "b\n", "c\n", "d"), { maxLength: 12 }).map((lines) => lines.join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      fc.pre(before !== after);
      const [shown] = shownChange({ path: "/a", before, after }).content;
      assert.ok(shown?.type === "diff" && shown.oldText !== null);
      const { oldText, newText } = shown;
      // The old part may occur in the text more than once. One of the positions is the right one.
      const places = [...Array(before.length + 1).keys()].filter((at) => before.startsWith(oldText, at));
      const results = places.map((at) => before.slice(0, at) + newText + before.slice(at + oldText.length));
      assert.ok(results.includes(after));
    }),
  );
});

test("[P5] a new file is shown whole, and a change that is too large is described by its size", () => {
  const created = shownChange({ path: "/a", before: null, after: "x\n" });
  assert.deepEqual(created, { content: [{ type: "diff", path: "/a", oldText: null, newText: "x\n" }], line: 1 });
  const after = "y\n".repeat(limits.diffCharactersMax);
  const [shown] = shownChange({ path: "/a", before: "x\n", after }).content;
  assert.deepEqual(shown, {
    type: "text",
    text: `too large to show: from 1 line to ${limits.diffCharactersMax} lines`,
  });
});
