/** The list of kept faults, and the program that puts them in. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { checkMutants } from "../check/mutants.ts";
import { chosenMutants } from "./choose.ts";
import { allMutants } from "./list.ts";
import { mutated, type Mutant } from "./mutant.ts";
import { runMutants } from "./run-mutants.ts";

test("every kept fault still applies to the sources and changes them, has a name of its own, and names tests that exist", () => {
  assert.ok(allMutants.length >= 25);
  assert.equal(new Set(allMutants.map(({ name }) => name)).size, allMutants.length);
  assert.deepEqual(checkMutants({ root: process.cwd() }), []);
  for (const mutant of allMutants) {
    const source = readFileSync(mutant.file, "utf8");
    assert.notEqual(mutated(mutant, source), source, mutant.name);
    assert.match(mutant.name, /^[a-z0-9]+(?:-[a-z0-9]+)+$/);
    assert.ok(mutant.tests.length > 0, mutant.name);
  }
});

test("a sample depends on its seed alone, and a name that is in no list is refused", () => {
  const sample = (seed: number) => chosenMutants(allMutants, { only: [], sample: 5, seed });
  const [one, again, other] = [sample(1), sample(1), sample(2)];
  assert.ok("mutants" in one && one.mutants.length === 5);
  assert.deepEqual(again, one);
  assert.notDeepEqual(other, one);
  const [{ name } = assert.fail()] = allMutants;
  const only = chosenMutants(allMutants, { only: [name, "no-such-fault"], sample: null, seed: 1 });
  assert.deepEqual(only, { unknown: ["no-such-fault"] });
});

const isEven = "export const isEven = (n: number): boolean => n % 2 === 0;\n";
const even: Mutant = {
  name: "even-is-odd",
  does: "takes odd numbers for even ones",
  file: "src/even.ts",
  find: "=== 0",
  replace: "=== 1",
  tests: ["src/even.test.ts"],
};

/** A small project whose test tries one number. */
async function project(t: TestContext, tried: number): Promise<string> {
  const root = await temporaryFolder(t);
  const files = {
    "src/even.ts": isEven,
    "src/even.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { isEven } from "./even.ts";
test("even", () => assert.equal(isEven(${tried}) || ${tried} % 2 === 1, true));
`,
    "package.json": '{"type":"module"}',
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  mkdirSync(join(root, "node_modules"));
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  return root;
}

async function run(root: string, mutants: Mutant[]) {
  const lines: string[] = [];
  const stop = new AbortController().signal;
  const isClean = await runMutants(mutants, { root, tell: (line) => lines.push(line), stop });
  assert.equal(readFileSync(join(root, "src/even.ts"), "utf8"), isEven, "the sources stay as they are");
  return { isClean, output: lines.join("\n") };
}

test("a fault that the tests notice is noticed, one that they miss survives by name, and a stale edit says so", async (t) => {
  const noticed = await run(await project(t, 2), [even]);
  assert.equal(noticed.isClean, true, noticed.output);
  assert.match(noticed.output, /\[1\/1\] noticed {2}even-is-odd.*\nall 1 faults are noticed/);

  const missed = await run(await project(t, 3), [even]);
  assert.equal(missed.isClean, false);
  assert.match(missed.output, /SURVIVED even-is-odd.*\n1 of 1 faults survive:\neven-is-odd: takes odd numbers/);

  const stale = await run(await project(t, 2), [{ ...even, find: "=== 7" }]);
  assert.equal(stale.isClean, false);
  assert.match(stale.output, /even-is-odd: src\/even\.ts no longer has the text "=== 7"\ncorrect these entries/);
});

test("tests that fail without a fault are no proof: the run ends there", async (t) => {
  const root = await project(t, 2);
  const broken = join(root, "src/even.test.ts");
  writeFileSync(broken, readFileSync(broken, "utf8").replace("true));", "false));"));
  const { isClean, output } = await run(root, [even]);
  assert.equal(isClean, false);
  assert.match(output, /the tests fail without a fault/);
});
