import assert from "node:assert/strict";
import { test } from "node:test";
import { workspacesCheck } from "./checks.ts";

const records = (url: string | null) => ({
  configuration: { records: { url } },
  folder: { workspaces: "/srv/a/workspaces" },
});

test("[L1] [W1] doctor says that workspaces are files of one data folder where the records are shared", () => {
  const shared = records("postgres://db.example.org/aptove");
  const { state, detail, fix } = workspacesCheck({ count: 2, problems: [] }, shared);
  assert.equal(state, "note");
  assert.match(detail, /^2, as files in \/srv\/a\/workspaces; a server with another data folder does not have them$/);
  assert.match(fix ?? "", /one data folder/);
  // Where nothing can be missing, and where something is worse, the check does not mention it.
  assert.deepEqual(workspacesCheck({ count: 2, problems: [] }, records(null)), {
    name: "workspaces",
    state: "ok",
    detail: "2",
  });
  assert.deepEqual(workspacesCheck({ count: 0, problems: [] }, shared), {
    name: "workspaces",
    state: "ok",
    detail: "0",
  });
  assert.equal(workspacesCheck({ count: 2, problems: ["workspace default: broken"] }, shared).state, "failed");
});
