import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, realpathSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cliWorld } from "../../testing/cli.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { findWorkingCopy } from "./git.ts";
import { hostedName } from "./repository-name.ts";

test("[Q2] a repository with a hosted origin has the name of host and path, however it is cloned", () => {
  const cases: [string, string | null][] = [
    ["https://example.org/owner/name.git", "example.org/owner/name"],
    ["https://user:token@Example.org:8443/group/owner/name/", "example.org/group/owner/name"],
    ["git@example.org:owner/name.git", "example.org/owner/name"],
    ["git@example.org:/owner/name", "example.org/owner/name"],
    ["ssh://git@example.org:22/owner/name.git/", "example.org/owner/name"],
    ["https://other.org/owner/name", "other.org/owner/name"],
    ["/srv/git/name.git", null],
    ["file:///srv/git/name.git", null],
    ["../name", null],
    ["C:\\git\\name", null],
    ["https://example.org/", null],
    ["", null],
  ];
  for (const [origin, expected] of cases) assert.equal(hostedName(origin), expected, origin);
});

test("[Q2] two repositories of the same folder name share neither an index nor sessions", async (t) => {
  const world = await cliWorld(t);
  const other = join(world.copy, "..", "elsewhere", "copy");
  mkdirSync(join(other, ".."), { recursive: true });
  cpSync(world.copy, other, { recursive: true });
  await world.run(["ask", "how is a user greeted?"]);
  const there = await world.run(["ask", "--continue", "and here?"], { cwd: other });
  assert.equal(there.exit, 1);
  assert.match(there.stderr, /there is no session about copy~[0-9a-f]{8} yet/);
  assert.match(there.stderr, /indexing .*elsewhere/, "it gets an index of its own");
});

test("[Q2] linked working copies are one repository; a moved one has another name, and doctor offers its sessions", async (t) => {
  const world = await cliWorld(t);
  const here = await findWorkingCopy(world.copy);
  const linked = join(world.copy, "..", "linked");
  world.git("worktree", "add", "-q", linked);
  assert.equal((await findWorkingCopy(linked)).repo, here.repo);
  await world.run(["ask", "how is a user greeted?"]);
  const moved = join(world.copy, "..", "moved", "copy");
  mkdirSync(join(moved, ".."));
  renameSync(world.copy, moved);
  assert.notEqual((await findWorkingCopy(moved)).repo, here.repo);
  const listed = await world.run(["doctor", "--attach", "--json"], { cwd: moved });
  const { sessions } = JSON.parse(listed.stdout) as { sessions: { id: string; causes: string[] }[] };
  assert.deepEqual(
    sessions.map(({ causes }) => causes),
    [["folder_moved"]],
  );
  await world.run(["doctor", "--attach", sessions[0]?.id ?? "", "--yes"], { cwd: moved });
  const { exit, stderr } = await world.run(["ask", "--continue", "and now?"], { cwd: moved });
  assert.equal(exit, 0, stderr);
});

test("[Q2] a folder whose name has a line break is found like any other, also from a folder below it", async (t) => {
  const folder = realpathSync(await temporaryFolder(t));
  const git = (cwd: string, ...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, encoding: "utf8" });
  const copy = join(folder, "two\nlines");
  mkdirSync(join(copy, "below"), { recursive: true });
  git(copy, "init", "--quiet", "--initial-branch=main");
  git(copy, "commit", "--quiet", "--allow-empty", "--message=x");
  const here = await findWorkingCopy(copy);
  assert.equal(here.root, copy);
  assert.deepEqual(await findWorkingCopy(join(copy, "below")), here);
});
