import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyCharacter } from "../../../testing/any-character.ts";
import { replaceExactText } from "./replacement.ts";

const once = { all: false };

test("[P5] an edit replaces exactly the given text, whatever the texts contain", () => {
  const part = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 6 });
  const around = fc.string({ unit: anyCharacter, maxLength: 20 });
  fc.assert(
    fc.property(around, part, around, (before, find, replace) => {
      fc.pre(!before.includes("\r") && !find.includes("\r") && !before.includes(find));
      const text = `${before}\u0001${find}\u0002${before}`;
      fc.pre(text.split(find).length === 2);
      assert.equal(
        replaceExactText(text, { find, replace, all: false }).text,
        `${before}\u0001${replace}\u0002${before}`,
      );
    }),
  );
  assert.equal(replaceExactText("a b", { find: "a", replace: "$&$1$`", all: false }).text, "$&$1$` b");
});

test("[P5] an edit reports the lines that it changed", () => {
  const text = "x\ny\nx\nz x\n";
  assert.deepEqual(replaceExactText(text, { find: "x", replace: "w", all: true }), {
    text: "w\ny\nw\nz w\n",
    lines: [1, 3, 4],
  });
});

test("[P5] a text that occurs more than once is not replaced, and its lines are reported", () => {
  assert.throws(
    () => replaceExactText("x\ny\nx\n", { find: "x", replace: "w", ...once }),
    /2 times, at lines 1, 3; .*"all"/,
  );
});

test("[P5] an edit keeps the line endings of the file", () => {
  const crLf = replaceExactText("a\r\nb\r\nc\r\n", { find: "a\nb", replace: "x\ny\nz", ...once });
  assert.equal(crLf.text, "x\r\ny\r\nz\r\nc\r\n");
  assert.equal(replaceExactText("a\r\nb\r\n", { find: "a", replace: "x\ny", ...once }).text, "x\r\ny\r\nb\r\n");
  const mixed = "a\nb\nc\r\nd\r\n";
  assert.equal(replaceExactText(mixed, { find: "a\nb", replace: "x\ny", ...once }).text, "x\ny\nc\r\nd\r\n");
  assert.equal(replaceExactText(mixed, { find: "c\nd", replace: "x\ny", ...once }).text, "a\nb\nx\r\ny\r\n");
});

test("[P5] a text that does not occur is answered with the likely mistake", () => {
  const file = "function one() {\n\treturn 1;\n}\n\nfunction two() {\n\treturn 2;\n}\n";
  const fault = (find: string, replace = "new"): RegExp | string => {
    try {
      replaceExactText(file, { find, replace, ...once });
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  assert.match(
    String(fault("function two() {\n  return 2;\n}")),
    /white space; the file has:\n5\tfunction two\(\) \{\n6\t/,
  );
  assert.match(String(fault("5\tfunction two() {\n6\t\treturn 2;")), /leave out the line numbers/);
  assert.match(String(fault("function too() {")), /the most similar lines are:\n5\tfunction two/);
  assert.match(String(fault("function three()", "function two()")), /the replacement is, at line 5/);
  assert.equal(fault("nothing that is like anything here"), "the text to find is not in the file");
});

test("[P5] searching for the most similar text in a large file is fast", () => {
  const large = "some line of a large file, with words\n".repeat(200_000);
  const find = "sume lyne of a lurge fyle, wyth wurds\n".repeat(100);
  assert.throws(
    () => replaceExactText(large, { find, replace: "", ...once }),
    /is not in the file; the most similar lines are/,
  );
});

/** The texts are built to be slow to search. */
test("[P5] the time of an edit is proportional to the length of its texts, whatever they contain", () => {
  const long = "a".repeat(4_000_000);
  // A naive search takes half a minute at least for each of these.
  const fault = (text: string, find: string, replace = "x"): string => {
    try {
      replaceExactText(text, { find, replace, all: true });
    } catch (error) {
      return error instanceof Error ? error.message : "";
    }
    return "none";
  };
  assert.match(fault(long, "a", "b"), /more than 100000 times/);
  assert.match(fault(long, `${"a".repeat(1_000)}b${"a".repeat(1_000)}`), /is not in the file/);
  assert.match(fault("a \n".repeat(1_000_000), `${"a\n".repeat(2_000)}b`), /is not in the file/);
  assert.match(fault("ab".repeat(90_000), "b", "x".repeat(10_000)), /the file would have 900090000 characters/);
  assert.equal(replaceExactText("ab".repeat(90_000), { find: "b", replace: "c", all: true }).lines.length, 90_000);
});

test("[P5] a long text is found at the same positions as a short one", () => {
  const unit = fc.constantFrom("a", "b", "\n");
  const text = fc.string({ unit, maxLength: 200 });
  fc.assert(
    fc.property(text, fc.string({ unit, minLength: 60, maxLength: 70 }), text, (before, find, after) => {
      const whole = `${before}${find}${after}${find}`;
      const { text: result, lines } = replaceExactText(whole, { find, replace: "-", all: true });
      assert.equal(result, whole.split(find).join("-"));
      assert.equal(lines[0], whole.slice(0, whole.indexOf(find)).split("\n").length);
    }),
  );
});
