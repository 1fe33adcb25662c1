/** What is held back of an answer that proposes files, however its text arrives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BundleFilter } from "./bundle-filter.ts";

const bundle = '```json\n{ "files": [\n  { "path": "a" }\n] }\n```\n';

function filtered(pieces: readonly string[]): { shown: string; taken: string } {
  const filter = new BundleFilter();
  const shown = pieces.map((piece) => filter.push(piece)).join("") + filter.end();
  return { shown, taken: filter.taken };
}

test("[X7] [L2] the block of files is taken out of an answer, and no other text, in pieces of any size", () => {
  const cases: [text: string, shown: string, taken: string][] = [
    [`Text\n\n${bundle}more`, "Text\n\nmore", bundle],
    ["no block `here` at all", "no block `here` at all", ""],
    ["```ts\nlet a;\n```\nend\n", "```ts\nlet a;\n```\nend\n", ""],
    ['```json\n{ "a": 1 }\n```\nend', '```json\n{ "a": 1 }\n```\nend', ""],
    ['```js\n```json\n"files": [{\n```\n', '```js\n```json\n"files": [{\n```\n', ""],
    ['{"files": [{}]}', "", '{"files": [{}]}'],
    ['{"a": 1}\n', '{"a": 1}\n', ""],
    ['```\n{"files": [{"path', "", '```\n{"files": [{"path'],
    ["mid ```json\ntext", "mid ```json\ntext", ""],
  ];
  for (const [text, shown, taken] of cases) {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 60 }), (sizes) => {
        const pieces: string[] = [];
        let rest = text;
        for (const size of sizes) {
          pieces.push(rest.slice(0, size));
          rest = rest.slice(size);
        }
        const result = filtered([...pieces, rest]);
        assert.equal(result.shown.trimEnd(), shown.trimEnd(), JSON.stringify(pieces));
        assert.equal(result.taken.trimEnd(), taken.trimEnd());
      }),
      { numRuns: 50 },
    );
  }
});
