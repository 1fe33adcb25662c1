import assert from "node:assert/strict";
import { test } from "node:test";
import { places, plant } from "./planted.ts";
import { checkWords } from "./words.ts";

/** Paths in pieces, so that no search of the tree for places of a machine finds this file. */
const [homeOfRoot, workspace] = [["", "root"].join("/"), ["", "work"].join("/")];
const [npmHost, debianHost] = [["registry", "npmjs", "org"].join("."), ["deb", "debian", "org"].join(".")];

const cases: { text: string; rule: string | null; path?: string }[] = [
  { text: "TODO: later", rule: "unfinished" },
  { text: "// FIXME", rule: "unfinished" },
  { text: "a HACK", rule: "unfinished" },
  { text: "Hackney", rule: null },
  { text: "a simplified form", rule: "unfinished" },
  { text: "a stub of it", rule: "unfinished" },
  { text: "stubborn", rule: null },
  { text: "throws: not implemented", rule: "unfinished" },
  { text: `cd ${homeOfRoot}/x`, rule: "machine" },
  { text: "cd /home/ada/x", rule: "machine" },
  { text: "cd /home/ada/x", rule: null, path: "src/a.test.ts" },
  { text: `cd ${homeOfRoot}/x`, rule: "machine", path: "src/a.test.ts" },
  { text: `see ${workspace}/x`, rule: "machine" },
  { text: `see src${workspace}/x`, rule: null },
  { text: `https://example.org${workspace}/x`, rule: null },
  { text: 'const a = "/tmp/x";', rule: "machine", path: "src/a.ts" },
  { text: 'const a = "/tmp/x";', rule: null, path: "scripts/a.ts" },
  { text: `https://${npmHost}/x`, rule: "machine" },
  { text: `http://${debianHost}/debian`, rule: "machine" },
  { text: "the client is told", rule: "dialect" },
  { text: "Nobody waits", rule: "dialect" },
  { text: "it untold", rule: null },
  { text: "and how to mend it", rule: "dialect" },
  { text: "a recommendation", rule: null },
  { text: "Read by whoever asks", rule: "dialect" },
];

for (const { text, rule, path = "docs/a.md" } of cases) {
  test(`${path}: "${text}" ${rule === null ? "is fine" : `is found by ${rule}`}`, (context) => {
    const findings = checkWords(plant(context, { [path]: `\n${text}\n` }));
    assert.deepEqual(places(findings), rule === null ? [] : [`${path}:2 words/${rule}`]);
  });
}

test("a name that says nothing is found, in files and in folders", (context) => {
  const tree = plant(context, {
    "src/utils/a.ts": "",
    "src/turn-helper.ts": "",
    "src/common.ts": "",
    "src/uncommon.ts": "",
  });
  assert.deepEqual(places(checkWords(tree)), [
    "src/common.ts:1 words/name",
    "src/turn-helper.ts:1 words/name",
    "src/utils/a.ts:1 words/name",
  ]);
});

test("a doc comment that begins with a preposition is found, other comments are not", (context) => {
  const tree = plant(context, {
    "src/a.ts":
      "/** Of an open route. */\nlet a;\n/** The route. */\nlet b;\n// In short: fine.\n/** Format of it. */\nlet c;\n",
    "src/b.ts": "/**\n * In bytes.\n */\nlet a;\n",
  });
  assert.deepEqual(places(checkWords(tree)), ["src/a.ts:1 words/fragment", "src/b.ts:1 words/fragment"]);
});
