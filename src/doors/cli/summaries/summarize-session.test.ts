/** `aptove session summarize | summaries` (M5). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";

test("[M5] session summarize prints the lines with their turns; the list, the session and --json have them too", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "how is a user greeted in src/greet.ts?"]);
  const none = await world.run(["session", "summaries"]);
  assert.match(none.stderr, /no summary; make one: aptove session summarize/);
  const { exit, stdout } = await world.run(["session", "summarize", "last"]);
  assert.equal(exit, 0);
  assert.match(
    stdout,
    /^Summary of 1 turn, by offline\/offline-1 · [\d,]+ tokens\nmade by aptove's built-in offline model/,
  );
  assert.match(stdout, /Goal\n {2}- It began with: how is a user greeted in src\/greet\.ts\? \(turn 1\)/);
  assert.match(stdout, /Files\n {2}- src\/greet\.ts \(turn 1\)/);
  assert.match((await world.run(["session", "summaries"])).stdout, /completed +offline\/offline-1 +1 turn/);
  assert.match((await world.run(["session", "list"])).stdout, /greet\.ts\?: It began with: how is/);
  assert.match((await world.run(["session", "show"])).stdout, /Goal\n {2}- It began with/);
  const json = JSON.parse((await world.run(["session", "summarize", "--json"])).stdout) as { status: string };
  assert.equal(json.status, "completed");
  const unknown = await world.run(["session", "summarize", "--turn", "7"]);
  assert.deepEqual([unknown.exit, /has no turn 7/.test(unknown.stderr)], [1, true]);
});

test("[G3] [L3] the offline model makes no summary in the name of another model", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "hello"]);
  const refused = await world.run(["session", "summarize", "last", "--model", "nope"]);
  assert.equal(refused.exit, 1);
  assert.match(refused.stderr, /"nope" needs the key of a provider.* \(provider_unknown\)/);
  assert.match((await world.run(["session", "summaries"])).stderr, /no summary/);
  assert.equal((await world.run(["session", "summarize", "last", "--model", "offline-1"])).exit, 0);
});
