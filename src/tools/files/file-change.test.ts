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

test("[P5] a new file is shown whole", () => {
  const created = shownChange({ path: "/a", before: null, after: "x\n" });
  assert.deepEqual(created, { content: [{ type: "diff", path: "/a", oldText: null, newText: "x\n" }], line: 1 });
});

test("[P5] of a change that is too large, the path, the lines and both ends are shown", () => {
  const body = "y\n".repeat(limits.diffCharactersMax);
  const after = `the beginning \u001b[2K\n${body}the end`;
  const [shown] = shownChange({ path: "/a", before: "x\n", after }).content;
  const text = shown?.type === "text" ? shown.text : "";
  const lines = text.split("\n");
  const size = `from 1 line to ${limits.diffCharactersMax + 2} lines`;
  const how = "To see all of a change, answer no and ask for smaller ones.";
  assert.equal(lines[0], `/a is too large to show whole: ${size}. ${how}`);
  assert.deepEqual(lines.slice(1, 5), ["--- removed", "x", "", "+++ written"]);
  assert.equal(lines[5], "the beginning \\u001b[2K");
  assert.equal(lines.at(-1), "the end");
  const left = after.length - 2 * limits.diffPartCharactersMax;
  assert.match(text, new RegExp(`\\n⟨\\d+ lines, ${left} characters are not shown⟩\\n`));
  assert.ok(text.length < 3 * limits.diffPartCharactersMax);
});
