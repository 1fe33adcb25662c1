import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import type { WirePin } from "../../../client/client.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

test("[M6] [L1] pin, pins and unpin; session show lists what is pinned, and a chat pins too", async (t) => {
  const script = () => "the key rotates on Tuesday";
  const world = await cliWorld(t, { providers: [scriptedProvider({ name: "offline", script })] });
  await world.run(["index"]);
  await world.run(["ask", "when does it rotate?"]);
  const none = await world.run(["session", "pins"]);
  assert.match(none.stderr, /nothing is pinned/);
  const pinned = await world.run(["session", "pin", "last", "rotates", "on", "Tuesday"]);
  assert.match(pinned.stdout, /^[0-9a-f]{8} the answer of turn 1 \([0-9a-f]{8}\): "rotates on Tuesday"\n$/);
  const refused = await world.run(["session", "pin", "last", "never"]);
  assert.equal(refused.exit, 1);
  assert.match(refused.stderr, /does not have this text: "never" \(pin_invalid\)/);
  const whole = await world.run(["session", "pin", "last:1", "--of", "instruction", "--json"]);
  assert.equal((JSON.parse(whole.stdout) as WirePin).text, "when does it rotate?");
  const chat = await world.run(["chat", "--continue"], { stdin: "/pin 1\n/compact go on\n/unpin ffff\n/pins\n" });
  assert.match(chat.stdout, /all of turn 1/);
  assert.match(chat.stderr, /there is no pin "ffff"/);
  const shown = await world.run(["session", "show"]);
  assert.match(shown.stdout, /\n {2}pinned\n/);
  assert.match(shown.stdout, /answer +characters 8-26 +[0-9a-f]{8} +beside the summary\n/);
  const listed = await world.run(["session", "pins", "--json"]);
  const { pins } = JSON.parse(listed.stdout) as { pins: WirePin[] };
  assert.deepEqual(
    pins.map(({ part, number, isInHistory }) => [part, number, isInHistory]),
    [
      ["answer", 1, true],
      ["instruction", 1, true],
      ["turn", 1, true],
    ],
  );
  for (const part of [pins[0]?.id.slice(-8), pins[1]?.id.slice(-8, -2)])
    assert.equal((await world.run(["session", "unpin", part ?? assert.fail()])).exit, 0);
  const left = await world.run(["session", "pins"]);
  assert.match(left.stdout, /^[0-9a-f]{8} all of turn 1 [^\n]*\n$/);
  const gone = await world.run(["session", "unpin", "zzzz"]);
  assert.match(gone.stderr, /"zzzz" is not an id \(usage\)\nfix: .* see: aptove session pins/);
  assert.equal((await world.run(["session", "unpin", pins[2]?.id.slice(0, 9) ?? assert.fail()])).exit, 0);
});
