/** `aptove session show --size` on the screen, and over HTTP (B7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import type { WireSessionSize, WireSizes } from "../../../client/client.ts";

test("[B7] [L1] session show --size shows the room by kind and by turn, of one turn, and of all sessions", async (t) => {
  const world = await cliWorld(t);
  for (const how of ["--new", "--continue", "--new"]) assert.equal((await world.run(["ask", "hello", how])).exit, 0);
  const { stdout: listed } = await world.run(["session", "list", "--json"]);
  const [, first] = (JSON.parse(listed) as { sessions: { id: string }[] }).sessions;
  const id = first?.id ?? "";
  const { stdout } = await world.run(["session", "show", id, "--size"]);
  assert.match(stdout, /stored +[\d.]+ KB in 2 turns, [\d.]+ K?B a turn/);
  assert.match(stdout, /sent +[\d.]+ KB in requests; what they repeat is stored once/);
  assert.match(stdout, /a purge +would free/);
  assert.match(stdout, /turn +stored +opening +run +state +rows +texts +sent\n2 .*\n1 /);
  const one = await world.run(["session", "show", id, "--size", "--turn", "1"]);
  assert.match(one.stdout, /\n1 /);
  assert.doesNotMatch(one.stdout, /\n2 |a purge/);
  const json = JSON.parse((await world.run(["session", "show", id, "--size", "--json"])).stdout) as WireSessionSize;
  assert.equal(json.total.bytes, json.purge?.bytes);
  const all = await world.run(["session", "show", "--size", "--all"]);
  assert.match(all.stdout, /sessions +2\n/);
  assert.match(all.stdout, new RegExp(`2 +${id}`));
  const sizes = JSON.parse((await world.run(["session", "show", "--size", "--all", "--json"])).stdout) as WireSizes;
  assert.equal(sizes.total.turns, 3);
  for (const wrong of [["--all"], ["--size", "--request"], ["--size", "--all", "--turn", "1"]])
    assert.match((await world.run(["session", "show", ...wrong])).stderr, /usage/);
  assert.match((await world.run(["session", "show", id, "--size", "--turn", "9"])).stderr, /has no turn 9/);
});
