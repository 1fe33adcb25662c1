import assert from "node:assert/strict";
import { test } from "node:test";
import { places, plant } from "./planted.ts";
import { checkSizes } from "./sizes.ts";

/** A function of so many lines. */
function long(name: string, lines: number): string {
  return [`function ${name}() {`, ...Array.from({ length: lines - 2 }, () => "  ;"), "}", ""].join("\n");
}

test("a function of 100 lines may be there, one of 101 may not", (context) => {
  const tree = plant(context, { "src/a.ts": long("a", 100), "src/b.ts": long("b", 101) });
  assert.deepEqual(
    checkSizes(tree)
      .filter((finding) => finding.rule === "sizes/function")
      .map((finding) => finding.file),
    ["src/b.ts"],
  );
});

test("one function in a hundred may have more than 40 lines, two may not", (context) => {
  const small = Array.from({ length: 100 }, (_, index) => `const f${index} = () => 1;`).join("\n");
  const one = plant(context, { "src/small.ts": small, "src/a.ts": long("a", 41) });
  assert.deepEqual(places(checkSizes(one)), []);
  const two = plant(context, { "src/small.ts": small, "src/a.ts": long("a", 41), "src/b.ts": `\n${long("b", 42)}` });
  assert.deepEqual(places(checkSizes(two)), [
    "src/a.ts:1 sizes/function-percentile",
    "src/b.ts:2 sizes/function-percentile",
  ]);
});

test("a file of more than 400 lines is found, a test may have 800", (context) => {
  const tree = plant(context, {
    "src/fine.ts": "// x\n".repeat(400),
    "src/large.ts": "// x\n".repeat(401),
    "src/fine.test.ts": "// x\n".repeat(800),
    "src/large.test.ts": "// x\n".repeat(801),
  });
  const found = checkSizes(tree).filter((finding) => finding.rule === "sizes/file");
  assert.deepEqual(places(found), ["src/large.test.ts:1 sizes/file", "src/large.ts:1 sizes/file"]);
});

test("a tenth of the files may have more than 200 lines", (context) => {
  const small = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`src/s${index}.ts`, "// x\n"]));
  const large = "// x\n".repeat(201);
  assert.deepEqual(places(checkSizes(plant(context, { ...small, "src/a.ts": large }))), []);
  const two = plant(context, { ...small, "src/a.ts": large, "src/b.ts": large });
  assert.deepEqual(places(checkSizes(two)), ["src/a.ts:1 sizes/file-percentile", "src/b.ts:1 sizes/file-percentile"]);
});

test("a function that registers tests may be as long as their list, one test may not", (context) => {
  const body = "    ;\n".repeat(101);
  const head = `import { test } from "node:test";\n`;
  const suite = `${head}export function suite() {\n  test("a", () => 1);\n${body}}\n`;
  assert.deepEqual(places(checkSizes(plant(context, { "src/records/suite.ts": suite }))), []);
  const oneTest = `${head}test("a", () => {\n${body}});\n`;
  assert.deepEqual(places(checkSizes(plant(context, { "src/a.test.ts": oneTest }))), [
    "src/a.test.ts:2 sizes/function",
  ]);
});

test("a fourth parameter is found; `this` is none", (context) => {
  const tree = plant(context, {
    "src/a.ts": "const f = (a, b, c) => 1;\nfunction g(this: A, a, b, c) {}\nclass C {\n  m(a, b, c, d) {}\n}\n",
  });
  assert.deepEqual(places(checkSizes(tree)), ["src/a.ts:4 sizes/parameters"]);
});

test("a sixteenth field is found; methods are not counted", (context) => {
  const fields = (count: number): string =>
    Array.from({ length: count }, (_, index) => `  f${index}: string;`).join("\n");
  const methods = Array.from({ length: 16 }, (_, index) => `  m${index}(): void;`).join("\n");
  const tree = plant(context, {
    "src/a.ts": `interface Fine {\n${fields(15)}\n${methods}\n}\n`,
    "src/b.ts": `interface Large {\n${fields(16)}\n}\n`,
    "src/c.ts": `type Large = {\n${fields(16)}\n};\n`,
  });
  assert.deepEqual(places(checkSizes(tree)), ["src/b.ts:1 sizes/interface", "src/c.ts:1 sizes/interface"]);
});

test("a folder may have 25 source files, and any number of tests", (context) => {
  const files = (folder: string, count: number, ending: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/f${index}${ending}`, "// x\n"]));
  const tree = plant(context, {
    ...files("src/fine", 25, ".ts"),
    ...files("src/fine", 10, ".test.ts"),
    ...files("src/full", 26, ".ts"),
  });
  assert.deepEqual(places(checkSizes(tree)), ["src/full:1 sizes/folder"]);
});
