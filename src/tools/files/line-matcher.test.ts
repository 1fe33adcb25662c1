import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { lineMatcher } from "./line-matcher.ts";

const pieces = [
  "a",
  "b",
  ".",
  "^",
  "$",
  "\\b",
  "\\B",
  "a*",
  "b+?",
  "(a|b)",
  "[ab]",
  "[^a]",
  "\\s",
  "(?=a)",
  "(?!b)",
  "(?<=a)",
];

test("[P5] the fast check of a whole text misses no matching line", () => {
  const pattern = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
  const text = fc.array(fc.constantFrom("a", "b", "A", " ", "\n", "\r\n", "\u2028"), { maxLength: 12 });
  fc.assert(
    fc.property(fc.record({ pattern, isLiteral: fc.boolean(), ignoreCase: fc.boolean() }), text, (asked, letters) => {
      const matcher = lineMatcher(asked);
      assert.ok("mayBeIn" in matcher);
      const whole = letters.join("");
      const lines = whole.split("\n").map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
      if (lines.some((line) => matcher.lineMatch(line) !== -1))
        assert.ok(matcher.mayBeIn(whole), `${asked.pattern} ${whole}`);
    }),
    { numRuns: 2_000 },
  );
});

test("[P5] patterns of other dialects are accepted if JavaScript can express them", () => {
  const found = (pattern: string, line: string): number => {
    const matcher = lineMatcher({ pattern, isLiteral: false, ignoreCase: false });
    return "fault" in matcher ? -2 : matcher.lineMatch(line);
  };
  assert.equal(found("(?i)WORD", "a word"), 2);
  assert.equal(found("\\-\\_\\<", "x-_<"), 1);
  assert.equal(found("\\p{L}{3}", "1 äöü"), 2);
  assert.equal(found("a{2", "a{2"), 0);
  assert.equal(found("(", ""), -2);
});
