import assert from "node:assert/strict";
import { test } from "node:test";
import { testCodeWeight } from "./test-code.ts";

const question = "where is the head of a session moved?";

test("[Q3] code ranks before the tests that quote it", () => {
  for (const path of [
    "src/a.test.ts",
    "tests/a.py",
    "pkg/head_test.go",
    "src/__tests__/a.js",
    "testing/fake.ts",
    "spec/a_spec.rb",
  ]) {
    assert.equal(testCodeWeight(path, question), 0.5, path);
  }
  for (const path of ["src/a.ts", "src/contest.ts", "docs/latest.md", "attestation/a.go"]) {
    assert.equal(testCodeWeight(path, question), 1, path);
  }
});

test("[Q3] a question about tests ranks tests fully", () => {
  assert.equal(testCodeWeight("src/a.test.ts", "which tests cover the head?"), 1);
});
