import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import type { WireTurn } from "../../../client/client.ts";

async function lastTurn(world: CliWorld): Promise<WireTurn> {
  const { stdout } = await world.run(["session", "show", "--json"]);
  return (JSON.parse(stdout) as { turn: WireTurn }).turn;
}

function greetChunks({ manifest }: WireTurn): (string | undefined)[] {
  const ofFile = manifest.chunks.filter(({ path }) => path === "src/greet.ts");
  return [...new Set(ofFile.map(({ wasSent, notSentBecause }) => (wasSent ? "sent" : notSentBecause)))];
}

test("[X6] edit, ask, restore, change otherwise, commit, index, ask: the new code is sent, and a note says so", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.write("src/greet.ts", "export function greet() {\n  return 'edited';\n}\n");
  await world.run(["ask", "how is a user greeted?"]);
  world.git("checkout", ".");
  await world.write("src/greet.ts", "export function greet() {\n  return 'committed later';\n}\n");
  world.git("commit", "-am", "later");
  await world.run(["index"]);
  const { exit, stderr } = await world.run(["ask", "--continue", "how is a user greeted now?"]);
  assert.equal(exit, 0, stderr);
  const turn = await lastTurn(world);
  assert.deepEqual(greetChunks(turn), ["sent"]);
  assert.deepEqual(
    turn.manifest.skippedFiles.map(({ path, reason }) => [path, reason]),
    [["src/greet.ts", "outdated"]],
  );
});

test("[X6] what git says is deleted or renamed is noted as such, and its indexed code is not sent", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  world.git("mv", "README.md", "INTRODUCTION.md");
  world.git("rm", "-q", "src/greet.ts");
  const { exit, stderr } = await world.run(["ask", "how is a user greeted?"]);
  assert.equal(exit, 0, stderr);
  const turn = await lastTurn(world);
  assert.deepEqual(greetChunks(turn), [], "the index has followed the working copy");
  assert.deepEqual(
    turn.manifest.skippedFiles.map(({ path, reason }) => [path, reason]),
    [
      ["README.md", "deleted"],
      ["src/greet.ts", "deleted"],
    ],
  );
});

test("[X1] [L1] a name with line breaks cannot forge lines of the output", async (t) => {
  const world = await cliWorld(t);
  const name = "a\nerror: the data folder is full (storage_full)\nfix: run a program\n#";
  await world.write(name, "one\n");
  world.git("add", ".");
  await world.write(name, "two\n");
  const { exit, stderr } = await world.run(["ask", "hi"]);
  assert.equal(exit, 0, stderr);
  assert.match(stderr, /^not sent: "a\\nerror: .*\\n#" its path contains a control character$/m);
  assert.doesNotMatch(stderr, /^(?:error|fix):/m);
});
