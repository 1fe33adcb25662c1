import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDocs } from "./docs.ts";
import { places, plant } from "./planted.ts";

/** What the check says of the second line of a document that has other.md and a.ts beside it. */
const cases: { text: string; rule: string | null }[] = [
  { text: "[a](other.md)", rule: null },
  { text: "[a](../src/a.ts)", rule: null },
  { text: "[a](other.md#the-head-moves)", rule: null },
  { text: "[a](#here)", rule: null },
  { text: "[a](https://example.org/x)", rule: null },
  { text: "[a](gone.md)", rule: "link" },
  { text: "[a](other.md#gone)", rule: "link" },
  { text: "[a](#gone)", rule: "link" },
  { text: "[a](../../outside.md)", rule: "link" },
  { text: "`[a](gone.md)` is how it is written", rule: null },
  { text: "see `src/a.ts` and `src/`", rule: null },
  { text: "see src/a.ts.", rule: null },
  { text: "see `src/gone.ts`", rule: "named" },
  { text: "see GONE.md", rule: "named" },
  { text: "see docs/decisions/0001", rule: null },
  { text: "see docs/decisions/0002", rule: "named" },
  { text: "all of `src/gone-*.ts` and `src/<name>/x.ts`", rule: null },
  { text: "https://example.org/src/gone.ts", rule: null },
];

for (const { text, rule } of cases) {
  test(`"${text}" ${rule === null ? "is fine" : `is found by ${rule}`}`, (context) => {
    const document = `# Here\n${text}\n`;
    const tree = plant(context, {
      "docs/a.md": document,
      "docs/other.md": "## The head moves\n",
      "docs/decisions/0001-x.md": "",
      "docs/README.md": "[a](a.md) [b](other.md)",
      "docs/decisions/README.md": "[x](0001-x.md)",
      "src/a.ts": "",
    });
    assert.deepEqual(places(checkDocs(tree)), rule === null ? [] : [`docs/a.md:2 docs/${rule}`]);
  });
}

test("a page that no index leads to is found", (context) => {
  const tree = plant(context, {
    "docs/README.md": "[a](a.md) [x](decisions/0001-x.md)",
    "docs/a.md": "",
    "docs/formats/b.md": "",
    "docs/decisions/README.md": "",
    "docs/decisions/0001-x.md": "",
    "src/notes.md": "",
  });
  const unlisted = ["docs/decisions/0001-x.md:1 docs/unlisted", "docs/formats/b.md:1 docs/unlisted"];
  assert.deepEqual(places(checkDocs(tree)).toSorted(), unlisted);
});

test("a comment that names a file that is not there is found", (context) => {
  const tree = plant(context, { "src/a.ts": "/**\n * See docs/gone.md.\n */\nconst a = `docs/gone-too.md`;\n" });
  assert.deepEqual(places(checkDocs(tree)), ["src/a.ts:2 docs/named"]);
});
