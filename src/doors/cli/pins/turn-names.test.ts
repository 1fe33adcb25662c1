import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

test("[U5] [L1] a turn gets a name, which names and the graph show, and loses it", async (t) => {
  const world = await cliWorld(t, { providers: [scriptedProvider({ name: "offline" })] });
  await world.run(["index"]);
  await world.run(["ask", "one"]);
  assert.match((await world.run(["session", "names"])).stderr, /no turn has a name/);
  const named = await world.run(["session", "name", "last", "a", "good", "start"]);
  assert.match(named.stdout, /^[0-9a-f]{8} a good start\n$/);
  assert.match((await world.run(["session", "log", "--graph"])).stdout, /\("a good start", head\) one/);
  const listed = await world.run(["session", "names", "--json"]);
  const { names } = JSON.parse(listed.stdout) as { names: { name: string }[] };
  assert.deepEqual(
    names.map(({ name }) => name),
    ["a good start"],
  );
  await world.run(["session", "name", "last"]);
  assert.match((await world.run(["session", "names"])).stderr, /no turn has a name/);
});
