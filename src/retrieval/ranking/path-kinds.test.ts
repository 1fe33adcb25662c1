import assert from "node:assert/strict";
import { test } from "node:test";
import { questionTerms } from "../terms.ts";
import { askedKinds, isNamedBy, kindOfPath, type PathKind } from "./path-kinds.ts";

const paths: Record<PathKind, string[]> = {
  code: ["src/a.ts", "src/contest.ts", "attestation/a.go", "lib/latest.py", "src/documents/read.ts"],
  tests: [
    "src/a.test.ts",
    "src/a.test-d.ts",
    "tests/a.py",
    "pkg/head_test.go",
    "pkg/test_head.py",
    "conftest.py",
    "src/__tests__/a.js",
    "testing/fake.ts",
    "spec/a_spec.rb",
    "src/FooTest.java",
    "runtime-tests/bun/index.ts",
    "tests.rs",
  ],
  examples: ["examples/blog/index.ts", "benchmarks/router.ts"],
  docs: ["README.md", "docs/guide.ts", "CHANGES", "sphinx/locale/de.po", "www/index.tsx"],
  data: ["package.json", ".github/workflows/ci.yml", "src/style.css"],
};

for (const [kind, each] of Object.entries(paths)) {
  test(`[Q3] the path tells what a file is for: ${kind}`, () => {
    for (const path of each) assert.equal(kindOfPath(path), kind, path);
  });
}

test("[Q3] the first line says which kinds it asks for, and what it is about", () => {
  const cases: [string, PathKind[], PathKind[]][] = [
    ["where is the head of a session moved?", [], []],
    ["which tests cover the head?", ["tests"], []],
    ["add tests for the head", ["tests"], ["tests"]],
    ["test: the head", ["tests"], ["tests"]],
    ["fix the test client's timeout", ["tests"], []],
    ["update the readme", ["docs"], ["docs"]],
    ["what does the workflow cache?", ["data"], []],
  ];
  for (const [title, asks, isAbout] of cases) {
    assert.deepEqual(askedKinds(title), { asks: new Set(asks), isAbout: new Set(isAbout) }, title);
  }
});

test("[Q3] a file is named by all words of its name, unless that is a single word", () => {
  const terms = new Set(questionTerms("Improve the release process and assert more"));
  assert.equal(isNamedBy("docs/release_process.md", terms), true);
  assert.equal(isNamedBy("docs/release-checklist.md", terms), false);
  assert.equal(isNamedBy("docs/assert.rst", terms), false);
});
