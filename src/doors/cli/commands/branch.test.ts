import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import type { ExecuteAnswer, WireSession, WireSessionGraph, WireTurn } from "../../../client/client.ts";

/** Three turns of one session. */
async function withTurns(t: TestContext): Promise<CliWorld> {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "first greet"]);
  await world.run(["ask", "-c", "second greet"]);
  await world.run(["ask", "-c", "third greet"]);
  return world;
}

async function json<T>(world: CliWorld, argv: string[]): Promise<T> {
  const { exit, stdout, stderr } = await world.run([...argv, "--json"]);
  assert.equal(exit, 0, stderr);
  return JSON.parse(stdout) as T;
}

async function shown(world: CliWorld, id: string): Promise<{ session: WireSession; turn: WireTurn }> {
  return await json(world, ["session", "show", id]);
}

test("[T6] [L1] session fork without an instruction makes an empty session below the turn", async (t) => {
  const world = await withTurns(t);
  const { session: old } = await shown(world, "last");
  const { exit, stdout, stderr } = await world.run(["session", "fork", "last", "--at", "2"]);
  assert.equal(exit, 0, stderr);
  const id = stdout.slice(0, 36);
  assert.match(stderr, /^a fork of turn [0-9a-f]{8}; continue it: aptove ask -s [0-9a-f]{8} "…"\n$/);
  const answer = await json<ExecuteAnswer>(world, ["ask", "-s", id, "another way"]);
  const { turn } = await shown(world, id);
  assert.deepEqual([answer.sessionId, turn.depth], [id, 3]);
  assert.notEqual(turn.parentId, old.headTurnId);
  assert.deepEqual((await shown(world, old.id)).session, old);
});

test("[T6] [S4] [L1] session fork takes a session for its head, a turn, and session:number", async (t) => {
  const world = await withTurns(t);
  const { session, turn } = await shown(world, "last");
  const second = turn.parentId ?? assert.fail();
  const parentOf = async (from: string, ...more: string[]): Promise<string | null> => {
    const answer = await json<ExecuteAnswer>(world, ["session", "fork", from, ...more, "and now?"]);
    assert.notEqual(answer.sessionId, session.id);
    return (await shown(world, answer.sessionId)).turn.parentId;
  };
  assert.equal(await parentOf(session.id), session.headTurnId);
  assert.equal(await parentOf(session.id.slice(-8)), session.headTurnId);
  assert.equal(await parentOf(second), second);
  assert.equal(await parentOf(second.slice(-10)), second);
  assert.equal(await parentOf(`${session.id}:2`), second);
  assert.equal(await parentOf(session.id, "--at", "2"), second);
  const wrong = await world.run(["session", "fork", `${session.id}:2`, "--at", "1"]);
  assert.match(wrong.stderr, /names a turn already \(usage\)\nfix: leave out --at/);
  const missing = await world.run(["session", "fork", session.id, "--at", "9"]);
  assert.deepEqual([missing.exit, missing.stdout], [1, ""]);
  assert.match(missing.stderr, /has no turn 9 \(not_found\)\nfix: it has 1 to 3/);
});

test("[T7] [L1] session rerun of the head becomes the new head; the old turn stays unchanged", async (t) => {
  const world = await withTurns(t);
  const { session, turn: old } = await shown(world, "last");
  const rerun = await world.run(["session", "rerun", "last"]);
  assert.equal(rerun.exit, 0, rerun.stderr);
  assert.match(rerun.stderr, /\ncompare: aptove session diff [0-9a-f]{8} [0-9a-f]{8}\n$/);
  const { session: after, turn } = await shown(world, session.id);
  assert.deepEqual([turn.rerunOf, turn.parentId, after.headTurnId], [old.id, old.parentId, turn.id]);
  assert.equal(turn.instructionSummary, "third greet");
  const again = await json<{ turn: WireTurn }>(world, ["session", "show", "last", "--turn", "3"]);
  assert.deepEqual(again.turn, old);
});

test("[T7] [X1] [L1] a rerun may have another instruction, and takes the files as they are now", async (t) => {
  const world = await withTurns(t);
  await world.write("README.md", "# Changed\n");
  await world.run(["session", "rerun", "last", "third, differently"]);
  const { turn } = await shown(world, "last");
  assert.equal(turn.instructionSummary, "third, differently");
  assert.deepEqual(
    turn.manifest.activeFiles.map(({ path }) => path),
    ["README.md"],
  );
  const piped = await world.run(["ask", "--rerun", "last:1"], { stdin: "from a pipe" });
  assert.equal(piped.exit, 0, piped.stderr);
  assert.equal((await shown(world, "last")).turn.instructionSummary, "from a pipe");
});

test("[T7] [X1] [L1] a rerun sends the files that the turn was given, as they are now, and names those that it cannot send", async (t) => {
  const world = await withTurns(t);
  await world.run(["ask", "-f", "src/greet.ts", "-f", "README.md", "with files"]);
  await world.write("src/greet.ts", "export const greet = 1;\n");
  world.git("commit", "-qam", "other");
  await world.run(["session", "rerun", "last"]);
  const files = async () =>
    (await shown(world, "last")).turn.manifest.activeFiles.map(({ path, isTouched }) => [path, isTouched]);
  assert.deepEqual((await files()).toSorted(), [
    ["README.md", false],
    ["src/greet.ts", false],
  ]);
  const request = (await world.run(["session", "show", "last", "--request"])).stdout;
  assert.match(request, /export const greet = 1;/);
  world.git("rm", "-q", "README.md");
  world.git("commit", "-qm", "gone");
  const { exit, stderr } = await world.run(["session", "rerun", "last"]);
  assert.equal(exit, 0, stderr);
  assert.match(stderr, /^not sent: README\.md does not exist$/m);
  assert.deepEqual(await files(), [["src/greet.ts", false]]);
});

test("[T7] [X1] [L1] a rerun in the folder of another repository sends none of its files in place of those of the turn", async (t) => {
  const world = await withTurns(t);
  const asked = await json<ExecuteAnswer>(world, ["ask", "-f", "README.md", "with a file"]);
  const cwd = await temporaryFolder(t);
  await writeFile(join(cwd, "README.md"), "another file");
  const { exit, stderr } = await world.run(["session", "rerun", asked.turnId], { cwd });
  assert.equal(exit, 0, stderr);
  assert.match(
    stderr,
    /^not sent: README\.md of the earlier turn: not in this folder's repository; name each with --file/m,
  );
  assert.deepEqual((await shown(world, asked.sessionId)).turn.manifest.activeFiles, []);
});

test("[S5] [L1] session head moves the head by number or id, and the next instruction continues from there", async (t) => {
  const world = await withTurns(t);
  const { session, turn } = await shown(world, "last");
  const moved = await world.run(["session", "head", "last", "2"]);
  assert.equal(moved.exit, 0, moved.stderr);
  assert.match(moved.stdout, /^[0-9a-f]{8} head [0-9a-f]{8} → [0-9a-f]{8}\n$/);
  await world.run(["ask", "-c", "from the second"]);
  assert.equal((await shown(world, "last")).turn.parentId, turn.parentId);
  assert.equal((await world.run(["session", "head", "last", turn.id.slice(-12)])).exit, 0);
  assert.equal((await shown(world, "last")).session.headTurnId, turn.id);
  const missing = await world.run(["session", "head", "last", "99"]);
  assert.match(missing.stderr, /has no turn 99 \(not_found\)/);
  const other = await json<ExecuteAnswer>(world, ["ask", "another session"]);
  const foreign = await world.run(["session", "head", session.id, other.turnId]);
  assert.match(foreign.stderr, /belongs to another session.*\(turn_not_continuable\)/);
});

test("[L1] [T6] session log --graph draws branches and forks, also from the fork's side", async (t) => {
  const world = await withTurns(t);
  await world.run(["session", "rerun", "last"]);
  const { session } = await shown(world, "last");
  await world.run(["session", "fork", "last:2", "elsewhere"]);
  const id = "[0-9a-f]{8}";
  const drawn = (await world.run(["session", "log", session.id, "--graph"])).stdout.split("\n");
  const expected = [
    /^first greet$/,
    new RegExp(`^\\* ${id} 4 \\(head, rerun of 3\\) third greet `),
    new RegExp(`^\\| o ${id} session 1 turn, elsewhere$`),
    /^\|\/$/,
    new RegExp(`^\\| \\* ${id} 3 third greet `),
    /^\|\/$/,
    new RegExp(`^\\* ${id} 2 second greet `),
    new RegExp(`^\\* ${id} 1 first greet `),
  ];
  assert.equal(drawn.length, expected.length + 1, drawn.join("\n"));
  for (const [at, pattern] of expected.entries()) assert.match(drawn[at] ?? "", pattern);
  const fork = (await world.run(["session", "log", "--graph", "--limit", "2"])).stdout;
  assert.match(fork, new RegExp(`^elsewhere\\n\\* ${id} 1 \\(head\\) elsewhere .*\\n\\* ${id} 2 \\(session ${id}\\)`));
  const graph = await json<WireSessionGraph>(world, ["session", "log", session.id, "--graph"]);
  assert.deepEqual([graph.turns.length, graph.forks.length], [4, 1]);
});

test("[L1] contradicting options for the position of a turn are a usage error", async (t) => {
  const world = await withTurns(t);
  const cases: [string[], RegExp][] = [
    [["--fork", "last", "--rerun", "last"], /--fork and --rerun contradict/],
    [["--continue", "--fork", "last"], /--continue and --fork contradict/],
    [["--queue", "--steer", "-c"], /--queue and --steer contradict/],
    [["--queue"], /--queue is for a session that has a running turn .*\nfix: name it/],
    [["--steer", "--rerun", "last"], /--steer is for a session/],
  ];
  for (const [argv, expected] of cases) {
    const { exit, stdout, stderr } = await world.run(["ask", ...argv, "x"]);
    assert.deepEqual([exit, stdout], [2, ""], stderr);
    assert.match(stderr, expected);
  }
});
