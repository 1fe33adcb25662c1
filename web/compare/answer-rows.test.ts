/** Two answers as rows: every block is on its side, and the marks are the words that differ. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Lexer, type Token } from "marked";
import { answerRows } from "./answer-rows.ts";

/** The marked words of a token, wherever they are. */
function marksOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(marksOf);
  if (typeof value !== "object" || value === null) return [];
  if ("type" in value && value.type === "mark") return [String((value as Token).raw)];
  return Object.values(value).flatMap(marksOf);
}

test("[U7] equal blocks stand beside one another, and words that differ are marked inside paragraphs, lists and tables", () => {
  const left = "The price is **100** now.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | `x` |\n\nThe end.";
  const right = "The price is **90** now.\n\n- one\n- three\n\n| a | b |\n|---|---|\n| 2 | `y` |\n\nThe end.";
  const rows = answerRows(left, right);
  assert.deepEqual(
    rows.map(({ left: a, right: b, isSame }) => [a?.type, b?.type, isSame]),
    [
      ["paragraph", "paragraph", false],
      ["list", "list", false],
      ["table", "table", false],
      ["paragraph", "paragraph", true],
    ],
  );
  assert.deepEqual(marksOf(rows.map((row) => row.left)), ["100", "two", "1", "`x`"]);
  assert.deepEqual(marksOf(rows.map((row) => row.right)), ["90", "three", "2", "`y`"]);
});

test("[U7] changed code has its lines flagged, and a block without a partner stands alone", () => {
  const [code, more] = answerRows("```ts\na\nb\nc\n```", "```ts\na\nB\nc\n```\n\nMore words.");
  assert.partialDeepStrictEqual(code, { isSame: false, left: { flags: [false, true, false] } });
  assert.deepEqual([more?.left, more?.right?.type], [null, "paragraph"]);
  const [other] = answerRows("Nothing in common here.", "Quite different text!");
  assert.deepEqual(marksOf(other), [], "two different blocks are marked as blocks");
});

test("[U7] no block of either answer is lost or moved, whatever the texts are", () => {
  const block = fc.constantFrom("word", "other word", "# head", "- a\n- b", "```\ncode\n```", "> quote", "a *b* `c`");
  const answer = fc.array(block, { maxLength: 12 }).map((blocks) => blocks.join("\n\n"));
  const types = (text: string): string[] => Lexer.lex(text).flatMap(({ type }) => (type === "space" ? [] : [type]));
  fc.assert(
    fc.property(answer, answer, (left, right) => {
      const rows = answerRows(left, right);
      assert.deepEqual(
        rows.flatMap((row) => row.left?.type ?? []),
        types(left),
      );
      assert.deepEqual(
        rows.flatMap((row) => row.right?.type ?? []),
        types(right),
      );
    }),
  );
});
