import assert from "node:assert/strict";
import { test } from "node:test";
import { plantFolder, places } from "./planted.ts";
import { checkFormat, checkLint, checkTypes, checkUnused } from "./tools.ts";

test("a wrong type is found", async (context) => {
  const files = {
    "tsconfig.json": `{ "compilerOptions": { "noEmit": true } }`,
    "a.ts": `\nexport const a: number = "x";\n`,
  };
  assert.deepEqual(places(await checkTypes(plantFolder(context, files))), ["a.ts:2 types/TS2322"]);
});

test("a fault that the linter knows is found, and an import cycle by types alone", async (context) => {
  const root = plantFolder(context, {
    ".oxlintrc.json": `{ "plugins": ["import"], "rules": { "import/no-cycle": ["error", { "ignoreTypes": false }] } }`,
    "a.ts": `import type { B } from "./b.ts";\nexport type A = B;\n`,
    "b.ts": `import type { A } from "./a.ts";\nexport type B = A | 1;\nexport const c = (x: B) => { debugger; return x; };\n`,
  });
  const found = places(await checkLint(root)).map((place) => place.replace(/ .*\(/, " ("));
  assert.deepEqual(found, ["a.ts:1 (no-cycle)", "b.ts:1 (no-cycle)", "b.ts:3 (no-debugger)"]);
});

test("a file that is not formatted is found", async (context) => {
  const root = plantFolder(context, { "a.ts": "const   a = 1\n", "b.ts": "const b = 1;\n" });
  assert.deepEqual(places(await checkFormat(root)), ["a.ts:1 format/layout"]);
});

test("what nothing uses is found: a file, an export, a dependency", async (context) => {
  const root = plantFolder(context, {
    "package.json": `{ "name": "x", "type": "module", "dependencies": { "unused-package": "1.0.0" } }`,
    "knip.json": `{ "entry": ["main.ts"], "project": ["*.ts"] }`,
    "main.ts": `import { used } from "./lib.ts";\nused();\n`,
    "lib.ts": `export const used = () => 1;\nexport const spare = 2;\n`,
    "alone.ts": `export const alone = 1;\n`,
  });
  const found = places(await checkUnused(root)).map((place) => place.replace(/:\d+/, ""));
  assert.deepEqual(found, ["alone.ts unused/files", "lib.ts unused/exports", "package.json unused/dependencies"]);
});

test("a tool that fails without a finding has failed", async (context) => {
  const [finding] = await checkTypes(plantFolder(context, {}));
  assert.equal(finding?.rule, "types/failed");
});
