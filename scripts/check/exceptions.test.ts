import assert from "node:assert/strict";
import { test } from "node:test";
import { applyExceptions, exceptions } from "./exceptions.ts";
import type { Finding } from "./finding.ts";
import { places } from "./planted.ts";

function finding(file: string, rule: string): Finding {
  return { file, line: 1, rule, message: "m", fix: "m" };
}

const steps = ["walls", "sizes"];

test("an exception covers its rule in its file or folder, and nothing else", () => {
  const list = [
    { rule: "sizes/file", path: "src/a.ts", reason: "r" },
    { rule: "walls/import", path: "src/old/", reason: "r" },
  ];
  const findings = [
    finding("src/a.ts", "sizes/file"),
    finding("src/b.ts", "sizes/file"),
    finding("src/a.ts", "sizes/function"),
    finding("src/old/c.ts", "walls/import"),
    finding("src/older.ts", "walls/import"),
  ];
  assert.deepEqual(places(applyExceptions(findings, { list, steps })), [
    "src/a.ts:1 sizes/function",
    "src/b.ts:1 sizes/file",
    "src/older.ts:1 walls/import",
  ]);
});

test("an exception that covers nothing is a finding, if its step ran", () => {
  const list = [{ rule: "sizes/file", path: "src/a.ts", reason: "r" }];
  assert.deepEqual(places(applyExceptions([], { list, steps })), ["scripts/check/exceptions.ts:1 exceptions/unused"]);
  assert.deepEqual(applyExceptions([], { list, steps: ["walls"] }), []);
});

test("every exception has a reason", () => {
  for (const { reason } of exceptions) assert.ok(reason.length > 10, reason);
});
