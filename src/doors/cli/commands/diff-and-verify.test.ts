import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import { flipBit } from "../../../../testing/stored-content.ts";
import type { WireSession, WireTurn, WireTurnDiff, WireVerifyReport } from "../../../client/client.ts";

async function withTurns(t: TestContext): Promise<CliWorld> {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "first greet"]);
  await world.run(["ask", "-c", "second greet"]);
  return world;
}

test("[D1] [L1] session diff shows what a rerun with a changed file saw and answered differently", async (t) => {
  const world = await withTurns(t);
  await world.write("README.md", "# Greets loudly\n");
  await world.run(["session", "rerun", "last"]);
  const { exit, stdout } = await world.run(["session", "diff", "last:2", "last:3"]);
  assert.equal(exit, 0);
  const [a, b, ...rest] = stdout.split("\n");
  assert.match(a ?? "", /^- turn [0-9a-f]{8}, 2 of /);
  assert.match(b ?? "", /^\+ turn [0-9a-f]{8}, 3 of /);
  assert.match(rest.join("\n"), /^history: 1 turn in common, to [0-9a-f]{8}\nunchanged: boot prompt, tools, model/);
  assert.match(stdout, /^files: 1 difference\n\+ README.md [0-9a-f]{8}$/m);
  assert.match(stdout, /^instruction: unchanged$/m);
  const beside = await world.run(["session", "diff", "last:1", "last:2", "--side-by-side"]);
  assert.match(beside.stdout, /^first greet +\| second greet$/m);
  const json = await world.run(["session", "diff", "last:2", "last", "--json"]);
  assert.equal((JSON.parse(json.stdout) as WireTurnDiff).files.length, 1);
});

test("[D1] [L1] session diff without turns compares the last one with the one that it repeats, or else continues", async (t) => {
  const world = await withTurns(t);
  const numbers = async (...turns: string[]): Promise<string[]> => {
    const { stdout, stderr } = await world.run(["session", "diff", ...turns]);
    assert.equal(stderr, "");
    return stdout
      .split("\n")
      .slice(0, 2)
      .map((line) => /, (\d) of /.exec(line)?.[1] ?? line);
  };
  assert.deepEqual(await numbers(), ["1", "2"]);
  await world.run(["ask", "-c", "third greet"]);
  await world.run(["session", "rerun", "last"]);
  assert.deepEqual(await numbers(), ["3", "4"]);
  assert.deepEqual(await numbers("last:2"), ["1", "2"]);
  const first = await world.run(["session", "diff", "last:1"]);
  assert.equal(first.exit, 1);
  assert.match(first.stderr, /repeats and continues no other turn \(not_found\)\nfix: name two turns/);
});

test("[L1] [T6] a turn that only the session above a new fork has is named in the fix", async (t) => {
  const world = await withTurns(t);
  const { session } = JSON.parse((await world.run(["session", "show", "--json"])).stdout) as { session: WireSession };
  await world.run(["session", "fork", "last:1"]);
  const { stderr } = await world.run(["session", "diff", "last:1", "last:2"]);
  const above = `${session.id.slice(-8)}:1`;
  assert.match(
    stderr,
    new RegExp(
      `has no turn \\d \\(not_found\\)\nfix: it is a fork that has no turn of its own yet; .* turn ${above}\n`,
    ),
  );
});

test("[D2] [L1] session verify proves a session, and names the turn in which a byte is flipped", async (t) => {
  const world = await withTurns(t);
  const fine = await world.run(["session", "verify"]);
  assert.deepEqual([fine.exit, fine.stdout], [0, "2 turns verified: unchanged since they ended\n"]);
  const { turn } = JSON.parse((await world.run(["session", "show", "--json"])).stdout) as { turn: WireTurn };
  flipBit(world.dataDir, turn.id, "run.json");
  const broken = await world.run(["session", "verify"]);
  assert.equal(broken.exit, 1);
  assert.match(broken.stdout, new RegExp(`^turn 2 \\(${turn.id}\\) failed verification: `));
  const json = await world.run(["session", "verify", "--json"]);
  assert.equal(json.exit, 1);
  assert.equal((JSON.parse(json.stdout) as WireVerifyReport).fault?.turnId, turn.id);
});
