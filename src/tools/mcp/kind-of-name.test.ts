import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOfName } from "./kind-of-name.ts";

test("[P5] [P4] the kind of a server's tool follows from the words of its name, and from whether it only reads", () => {
  const cases = [
    ["delete_file", false, "delete"],
    ["moveFile", false, "move"],
    ["fetch", false, "fetch"],
    ["fetch-page", true, "fetch"],
    ["search_issues", true, "search"],
    ["write_file", false, "edit"],
    ["write_file", true, "read"],
    ["undeleted", false, "other"],
    ["ask", true, "read"],
  ] as const;
  for (const [name, isReadOnly, kind] of cases) assert.equal(kindOfName(name, isReadOnly), kind, name);
});
