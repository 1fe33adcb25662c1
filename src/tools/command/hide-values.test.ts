import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { valueHider } from "./hide-values.ts";

const key = "sk-0123456789abcdef";

test("[E8] a key is hidden however its text is split into pieces, and nothing else is hidden", () => {
  const part = fc.constantFrom(key, key.slice(0, 7), key.slice(7), `${key}-longer`, "s", "other ", "\n");
  const { hide, stream } = valueHider([key, `${key}-longer`, "short"]);
  fc.assert(
    fc.property(fc.array(part), fc.array(fc.nat(30)), (parts, cuts) => {
      const text = parts.join("");
      let shown = "";
      const { add, end } = stream((piece) => (shown += piece));
      let from = 0;
      for (const length of cuts) add(text.slice(from, (from += length)));
      add(text.slice(from));
      end();
      assert.ok(!shown.includes(key));
      // If one key begins with another, a piece may show that it continues.
      assert.equal(shown.replaceAll("***-longer", "***"), hide(text));
    }),
  );
  assert.equal(hide(`a ${key} short`), "a *** short");
});

test("[E8] text that cannot be the beginning of a key is shown at once", () => {
  const shown: string[] = [];
  const { add, end } = valueHider([key]).stream((piece) => void shown.push(piece));
  for (const piece of ["one\n", "sk-", "no\n", key.slice(0, 5), key.slice(5)]) add(piece);
  end();
  assert.deepEqual(shown, ["one\n", "sk-no\n", "***"]);
});
