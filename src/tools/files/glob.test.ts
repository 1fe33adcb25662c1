import assert from "node:assert/strict";
import { matchesGlob } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { globFilter } from "./glob.ts";

test("[P5] globs match as in .gitignore", () => {
  const fits: [string, string, boolean][] = [
    ["*.ts", "a.ts", true],
    ["*.ts", "src/deep/a.ts", true],
    ["*.ts", "a.tsx", false],
    ["/*.ts", "src/a.ts", true],
    ["src/*.ts", "src/a.ts", true],
    ["src/*.ts", "src/deep/a.ts", false],
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/x/y/a.ts", true],
    ["./src/**", "src/x/y/a.ts", true],
    ["src/", "src/x/a.ts", true],
    ["**/test/**", "a/test/b", true],
    ["**/test/**", "a/tests/b", false],
    ["*.{ts,js}", "x/a.js", true],
    ["{a,b{c,d}}.x", "bd.x", true],
    ["{a}.x", "{a}.x", true],
    ["[a-c]?.md", "bz.md", true],
    ["[!a-c]*", "b", false],
    ["[!a-c]*", "d", true],
    ["\\*.md", "*.md", true],
    ["\\*.md", "a.md", false],
    ["**/*.yml", ".github/workflows/ci.yml", true],
    ["a**b", "axxb", true],
    ["??", "é😀", true],
  ];
  for (const [pattern, path, expected] of fits) assert.equal(globFilter(pattern)(path), expected, `${pattern} ${path}`);
});

test("[P5] a glob that is not valid is a fault", () => {
  assert.throws(() => globFilter("[z-a]"), /is not a valid set of letters/);
  assert.throws(() => globFilter("{a,b}".repeat(20)), /more than 64 patterns/);
});

test("[P5] globs agree with those of Node", () => {
  const piece = fc.constantFrom("a", "b", "*", "?", "[ab]", "[!a]");
  const name = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join("").replace(/\*+/g, "*"));
  const step = fc.oneof({ weight: 3, arbitrary: name }, fc.constant("**"));
  const pattern = fc.array(step, { minLength: 2, maxLength: 4 }).map((steps) => steps.join("/"));
  const path = fc
    .array(fc.stringMatching(/^[abc]{1,4}$/), { minLength: 1, maxLength: 4 })
    .map((names) => names.join("/"));
  fc.assert(
    fc.property(pattern, path, (glob, file) => {
      assert.equal(globFilter(glob)(file), matchesGlob(file, glob), `${glob} ${file}`);
    }),
    { numRuns: 500 },
  );
});

test("[P5] no glob takes unlimited time", () => {
  const hard = globFilter(`${"**/".repeat(50)}${"*a".repeat(50)}b`);
  assert.equal(hard(`${"a/".repeat(100)}${"a".repeat(255)}`), false);
});
