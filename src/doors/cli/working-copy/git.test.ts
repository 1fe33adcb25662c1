import assert from "node:assert/strict";
import { test } from "node:test";
import { repoName } from "./git.ts";
import { shortIds } from "../lookup/find-by-id.ts";

test("[Q1] a repository has the name of its origin on a server, else of its folder", () => {
  const cases: [string, string][] = [
    ["https://example.org/owner/name.git", "owner/name"],
    ["https://user:token@example.org/group/owner/name/", "owner/name"],
    ["git@example.org:owner/name.git", "owner/name"],
    ["ssh://git@example.org:22/owner/name", "owner/name"],
    ["/srv/git/name.git", "folder"],
    ["file:///srv/git/name.git", "folder"],
    ["../name", "folder"],
    ["C:\\git\\name", "folder"],
    ["", "folder"],
  ];
  for (const [origin, expected] of cases) assert.equal(repoName(origin, "/srv/folder"), expected, origin);
  assert.equal(repoName("", "/"), "repository");
});

test("[L1] short ids are the ends of ids, as long as they need to be", () => {
  const ids = ["01a20097-965c-71ff-a333-944162687189", "01a20097-9693-793c-a7c0-c137737f927d"];
  assert.deepEqual([...shortIds(ids).values()], ["62687189", "737f927d"]);
  const twins = ["01a20097-965c-71ff-a333-944162687189", "01a20097-965c-71ff-a333-a44162687189"];
  assert.deepEqual([...shortIds(twins).values()], ["944162687189", "a44162687189"]);
});
