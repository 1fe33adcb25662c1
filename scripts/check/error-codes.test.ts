import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { checkErrorCodes } from "./error-codes.ts";
import { places, plant } from "./planted.ts";

const catalogue = [
  "export const errorCatalogue = {",
  `  not_found: entry(404, "There is nothing here"),`,
  `  busy: entry(409, "Another turn is running", true),`,
  "} as const;",
  `export type WarningCode = "chain_rebuilt" | "busy";`,
  "",
].join("\n");
const document = [
  "| code | status | title | again | what to do |",
  "|---|---|---|---|---|",
  "| `not_found` | 404 | There is nothing here | no | Look. |",
  "| `busy` | 409 | Another turn is running | yes | Wait. |",
  "",
  "| `chain_rebuilt` | Explained. |",
  "| `busy` | Explained. |",
  "",
].join("\n");
const raised = `f("not_found");\nconst code = a ? "busy" : "chain_rebuilt";\n`;

function planted(context: TestContext, changes: Record<string, string>): string[] {
  const files = { "src/domain/errors.ts": catalogue, "docs/errors.md": document, "src/a.ts": raised, ...changes };
  return places(checkErrorCodes(plant(context, files)));
}

test("[H3] a catalogue and a document that say the same are fine", (context) => {
  assert.deepEqual(planted(context, {}), []);
});

test("[H3] a code that is not documented is found, and one that does not exist", (context) => {
  const changed = document.replace("`not_found`", "`gone`");
  assert.deepEqual(planted(context, { "docs/errors.md": changed }), [
    "docs/errors.md:3 errors/document",
    "src/domain/errors.ts:2 errors/document",
  ]);
});

test("[H3] another status or title is found, or another word on sending it again", (context) => {
  assert.deepEqual(planted(context, { "docs/errors.md": document.replace("404", "410") }), [
    "docs/errors.md:3 errors/document",
  ]);
  assert.deepEqual(planted(context, { "docs/errors.md": document.replace("nothing", "something") }), [
    "docs/errors.md:3 errors/document",
  ]);
  assert.deepEqual(planted(context, { "docs/errors.md": document.replace("yes", "no") }), [
    "docs/errors.md:4 errors/document",
  ]);
});

test("[H3] a warning is documented as one, not as an error of the same code", (context) => {
  const changed = document.replace("| `busy` | Explained. |\n", "");
  assert.deepEqual(planted(context, { "docs/errors.md": changed }), ["src/domain/errors.ts:5 errors/document"]);
});

test("a code that is only compared, or only named in a type or a test, is raised nowhere", (context) => {
  const compared = `if (x === "busy") f("not_found", "chain_rebuilt");\nswitch (x) { case "busy": }\nlet y: "busy";\n`;
  const unraised = ["src/domain/errors.ts:3 errors/unraised", "src/domain/errors.ts:5 errors/unraised"];
  assert.deepEqual(planted(context, { "src/a.ts": compared, "src/a.test.ts": `f("busy");\n` }), unraised);
});
