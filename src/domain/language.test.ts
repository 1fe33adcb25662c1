import assert from "node:assert/strict";
import { test } from "node:test";
import { languageOf } from "./language.ts";

test("[Q1] a file has the language of its extension or its name, whatever its name is", () => {
  const cases = {
    "src/a.TS": "typescript",
    Makefile: "makefile",
    "Dockerfile.old": "dockerfile",
    "a.unknown": "plaintext",
    constructor: "plaintext",
    "src/constructor.phpt": "plaintext",
    "a.constructor": "plaintext",
    ["__proto__"]: "plaintext",
    "a.__proto__": "plaintext",
  };
  for (const [path, language] of Object.entries(cases)) assert.equal(languageOf(path), language, path);
});
