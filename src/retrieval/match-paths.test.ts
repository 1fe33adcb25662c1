import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../domain/limits.ts";
import { matchPaths } from "./match-paths.ts";

test("[U4] a part of a path finds the files whose names begin with it first, whatever the case", () => {
  const paths = ["docs/session.md", "src/session/open.ts", "src/Session.ts", "src/old-session.ts", "README.md"];
  assert.deepEqual(matchPaths(paths, "sess"), [
    "src/Session.ts",
    "docs/session.md",
    "src/old-session.ts",
    "src/session/open.ts",
  ]);
  assert.deepEqual(matchPaths(paths, "SESSION/"), ["src/session/open.ts"]);
  assert.deepEqual(matchPaths(paths, "nothing"), []);
  const many = Array.from({ length: limits.matchedPathsMax + 5 }, (_, at) => `a${at}.ts`);
  assert.equal(matchPaths(many, "").length, limits.matchedPathsMax);
});
