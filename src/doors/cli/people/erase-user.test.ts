/** `aptove user erase`, on a machine's own data (H4, S6). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";

test("[H4] [S6] [L1] `user erase` shows what will go, asks, and deletes what the user had for themselves", async (t) => {
  const world = await cliWorld(t);
  await world.run(["user", "add", "Bob", "--email", "bob@example.org"]);
  const { stdout } = await world.run(["key", "create", "laptop", "--user", "Bob"]);
  assert.match(stdout, /^aptove_/);
  const early = await world.run(["user", "erase", "Bob", "--yes"]);
  assert.equal(early.exit, 1);
  assert.match(early.stderr, /user disable/);
  await world.run(["user", "disable", "Bob"]);
  const asked = await world.run(["user", "erase", "bob@example.org"]);
  assert.match(asked.stdout, /Bob: 0 private sessions, 1 key, 0 facts will go/);
  assert.notEqual(asked.exit, 0);
  assert.match((await world.run(["user", "list"])).stdout, /Bob/);
  const done = await world.run(["user", "erase", "Bob", "--yes"]);
  assert.equal(done.exit, 0, done.stderr);
  assert.match(done.stdout, /erased: 0 turns purged/);
  assert.match((await world.run(["user", "list"])).stdout, /disabled.* - +erased user/);
  assert.match((await world.run(["audit", "--action", "user.erase"])).stdout, /operator +user\.erase/);
});
