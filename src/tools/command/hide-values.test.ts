import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { valueHider } from "./hide-values.ts";

const key = "sk-0123456789abcdef";

test("[E8] a key is hidden however a text that holds it is cut into pieces, and nothing else is", () => {
  const part = fc.constantFrom(key, key.slice(0, 7), key.slice(7), `${key}-longer`, "s", "other ", "\n");
  const { hide, stream } = valueHider([key, `${key}-longer`, "short"]);
  fc.assert(
    fc.property(fc.array(part), fc.array(fc.nat(30)), (parts, cuts) => {
      const text = parts.join("");
      let said = "";
      const { add, end } = stream((piece) => (said += piece));
      let from = 0;
      for (const length of cuts) add(text.slice(from, (from += length)));
      add(text.slice(from));
      end();
      assert.ok(!said.includes(key));
      // Of a key that goes on as another one, a piece may show that it does.
      assert.equal(said.replaceAll("***-longer", "***"), hide(text));
    }),
  );
  assert.equal(hide(`a ${key} short`), "a *** short");
});

test("[E8] what is no beginning of a key is shown at once", () => {
  const said: string[] = [];
  const { add, end } = valueHider([key]).stream((piece) => void said.push(piece));
  for (const piece of ["one\n", "sk-", "no\n", key.slice(0, 5), key.slice(5)]) add(piece);
  end();
  assert.deepEqual(said, ["one\n", "sk-no\n", "***"]);
});
