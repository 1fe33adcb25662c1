import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import type { WireSearchHits } from "../../../client/client.ts";

test("[S8] [L1] search finds words that are spread over turns, and says where each is", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "where is 100% of the_head?"]);
  await world.run(["ask", "-c", "and the zebra?"]);
  await world.run(["ask", "nothing of it"]);
  const found = await world.run(["search", "zebra", "100%"]);
  assert.equal(found.exit, 0);
  assert.match(found.stdout, /^[0-9a-f]{8} where is 100% of the_head\? /);
  assert.match(found.stdout, /^ {2}instruction of [0-9a-f]{8}: and the zebra\?$/m);
  assert.equal(found.stdout.match(/^[0-9a-f]{8} /gm)?.length, 1);
  const coloured = await world.run(["search", "ZEBRA"], { env: { FORCE_COLOR: "1" } });
  assert.ok(coloured.stdout.includes("\u001b[31mzebra\u001b[39m"));
  const none = await world.run(["search", "zebra", "100_"]);
  assert.deepEqual([none.exit, none.stdout], [0, ""]);
  assert.match(none.stderr, /no session contains all of these words/);
  const empty = await world.run(["search", "", " "]);
  assert.equal(empty.exit, 2);
  assert.match(empty.stderr, /there is no word to search for \(usage\)\nfix: give one: aptove search/);
  const json = await world.run(["search", "zebra", "--json"]);
  assert.equal((JSON.parse(json.stdout) as WireSearchHits).hits.length, 1);
});
