import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";
import type { ExecuteAnswer, WireSession, WireTurn } from "../../../client/client.ts";

async function withTwoTurns(t: TestContext): Promise<CliWorld> {
  const world = await cliWorld(t);
  await world.run(["index"]);
  await world.run(["ask", "how is a user greeted?"]);
  await world.write("README.md", "# Changed\n");
  await world.run(["ask", "--continue", "and how is a user greeted by name?"]);
  return world;
}

test("[S7] [L1] session list: newest first, each with status, turns, tokens, repository and both contexts", async (t) => {
  const world = await withTwoTurns(t);
  await world.run(["ask", "another"]);
  const { exit, stdout } = await world.run(["session", "list"]);
  assert.equal(exit, 0);
  const lines = stdout.trimEnd().split("\n");
  assert.match(lines[0] ?? "", /completed +1 turn .* copy~[0-9a-f]{8} +Default\/Default +another$/);
  assert.match(
    lines[1] ?? "",
    /^[0-9a-f]{8} +\d{4}-\d\d-\d\d \d\d:\d\d +completed +2 turns +[\d,]+ tokens +copy~[0-9a-f]{8} +Default\/Default +how is a user greeted\?$/,
  );
});

test("[S7] [L1] session list pages, filters by repository, and says when there is more", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  for (const word of ["one", "two", "three"]) await world.run(["ask", word]);
  const { stdout, stderr } = await world.run(["session", "list", "--limit", "2"]);
  assert.equal(stdout.trimEnd().split("\n").length, 2);
  assert.match(stderr, /there are more; see them with --limit 4/);
  const json = JSON.parse((await world.run(["session", "list", "--limit", "2", "--json"])).stdout) as {
    sessions: WireSession[];
    nextCursor: string | null;
  };
  assert.deepEqual(
    json.sessions.map((session) => session.name),
    ["three", "two"],
  );
  assert.equal(typeof json.nextCursor, "string");
  assert.match(
    (await world.run(["session", "list", "--repo", "other"])).stderr,
    /no session matches; the filters hide 3 sessions/,
  );
  assert.equal((await world.run(["session", "list", "--limit", "0"])).exit, 2);
});

test("[L1] session log: a line per turn with status, time, counts and warnings; the head is marked", async (t) => {
  const world = await withTwoTurns(t);
  const { exit, stdout } = await world.run(["session", "log"]);
  assert.equal(exit, 0);
  const [name, first, second, ...rest] = stdout.trimEnd().split("\n");
  assert.equal(name, "how is a user greeted?");
  assert.match(first ?? "", /^ {3}1 +[0-9a-f]{8} +completed .* ms +2 retrieved, 2 sent +how is a user greeted\?$/);
  assert.match(second ?? "", /^\* +2 +[0-9a-f]{8} +completed .* 1 file, 1 sent +and how/);
  assert.deepEqual(rest, []);
  const limited = await world.run(["session", "log", "--limit", "1"]);
  assert.match(limited.stdout, /\n\* +2/);
  assert.match(limited.stderr, /older turns are left out/);
});

test("[L1] session log shows why a turn failed", async (t) => {
  const world = await cliWorld(t);
  const first = JSON.parse((await world.run(["ask", "--json", "greet"])).stdout) as { sessionId: string };
  const asked = await world.run(["ask", "--json", "-s", first.sessionId, "--repo", "elsewhere", "no index there"]);
  const { sessionId } = JSON.parse(asked.stdout) as { sessionId: string };
  assert.match((await world.run(["session", "log", sessionId])).stdout, /failed index_missing/);
  assert.match((await world.run(["session", "show", sessionId])).stdout, /failed: .*\(index_missing\)/);
});

test("[L1] [Q4] [X6] session show lists what was sent, and why other things were not sent", async (t) => {
  const world = await withTwoTurns(t);
  const { stdout } = await world.run(["session", "show"]);
  assert.match(stdout, /^how is a user greeted\?\nsession +[0-9a-f-]{36}\n/);
  assert.match(stdout, /not sent +src\/greet.ts:1-3 +the model has it from an earlier turn/);
  assert.match(stdout, /sent +README.md +10 B +modified/);
  assert.match(stdout, /history of 1 turn sent from our store/);
  assert.match(stdout, /model calls\n +1 +stop +[\d.]+ KB sent/);
  const first = await world.run(["session", "show", "last", "--turn", "1"]);
  assert.match(first.stdout, /sent +src\/greet.ts:1-3/);
  assert.match(first.stdout, /no history/);
  const json = JSON.parse((await world.run(["session", "show", "--json"])).stdout) as { turn: WireTurn };
  assert.equal(json.turn.sequence, 2);
});

test("[D3] [L1] session show --request and --response print the exact bytes", async (t) => {
  const world = await withTwoTurns(t);
  const request = await world.run(["session", "show", "--turn", "1", "--request"]);
  assert.equal(request.exit, 0);
  assert.ok(request.stdout.includes("how is a user greeted?"));
  assert.doesNotThrow(() => JSON.parse(request.stdout));
  const response = await world.run(["session", "show", "--turn", "1", "--response", "--step", "1"]);
  assert.ok(response.stdout.includes("built-in offline model"));
  assert.equal((await world.run(["session", "show", "--request", "--response"])).exit, 2);
  assert.equal((await world.run(["session", "show", "--request", "--step", "9"])).exit, 1);
});

test("[L1] a turn or a session that is not there is exit code 1 and named", async (t) => {
  const world = await withTwoTurns(t);
  const turn = await world.run(["session", "show", "--turn", "9"]);
  assert.equal(turn.exit, 1);
  assert.match(turn.stderr, /the session [0-9a-f]{8} has no turn 9 \(not_found\)\nfix: it has 1 to 2/);
  const id = "01999999-9999-7999-8999-999999999999";
  for (const argv of [
    ["show", id],
    ["log", id],
    ["rename", id, "x"],
  ]) {
    const { exit, stderr } = await world.run(["session", ...argv]);
    assert.equal(exit, 1);
    assert.match(stderr, /\(not_found\)/);
  }
});

test("[S2] [L1] session rename gives a name that stays", async (t) => {
  const world = await withTwoTurns(t);
  assert.equal((await world.run(["session", "rename", "last", "My name"])).exit, 0);
  await world.run(["ask", "--continue", "more"]);
  assert.match((await world.run(["session", "list"])).stdout, / My name$/m);
});

test("[L1] [T4] session show --answer prints an old answer byte for byte, also what a failed turn has of one", async (t) => {
  const whole = "# One\n\nthe **first** answer";
  const provider = scriptedProvider({
    name: "offline",
    script: ({ items }) =>
      JSON.stringify(items.at(-1)).includes("fail")
        ? [{ says: "half of it" }, { fails: "provider_refused_content" }]
        : whole,
  });
  const world = await cliWorld(t, { providers: [provider] });
  await world.run(["index"]);
  await world.run(["ask", "one"]);
  await world.run(["ask", "--continue", "now fail"]);
  for (const named of [["last", "--turn", "1"], ["last:1"]]) {
    const first = await world.run(["session", "show", ...named, "--answer"]);
    assert.deepEqual([first.exit, first.stdout, first.stderr], [0, `${whole}\n`, ""]);
  }
  assert.match((await world.run(["session", "show", "last:1"])).stdout, /^ +answer: # One$/m);
  const failed = await world.run(["session", "show", "--answer"]);
  assert.deepEqual([failed.exit, failed.stdout], [0, "half of it\n"]);
  assert.match(failed.stderr, /^error: .*\(provider_refused_content\)\n/);
  const json = JSON.parse((await world.run(["session", "show", "--answer", "--json"])).stdout) as ExecuteAnswer;
  assert.deepEqual([json.kind, json.text], ["error", "half of it"]);
  const both = await world.run(["session", "show", "--answer", "--request"]);
  assert.match(both.stderr, /--answer and --request contradict each other/);
  const twice = await world.run(["session", "show", "last:1", "--turn", "1"]);
  assert.match(twice.stderr, /last:1 names a turn already \(usage\)\nfix: leave out --turn/);
});

test("[S7] [T10] an interrupted turn is the same in list, show and log: its state, and tokens that are unknown", async (t) => {
  const world = await cliWorld(t);
  const call = world.start(["ask", "greet", "--new"], { env: { APTOVE_OFFLINE_DELAY_MS: "40" } });
  await call.saw("built-in");
  call.signals.emit("SIGINT");
  assert.equal((await call.finished).exit, 130);
  assert.match((await world.run(["session", "list"])).stdout, / interrupted +1 turn +tokens unknown /);
  const shown = (await world.run(["session", "show"])).stdout;
  assert.match(shown, /^turns +1, the last interrupted$/m);
  assert.match(shown, /^tokens +unknown$/m);
  assert.match((await world.run(["session", "log"])).stdout, / interrupted /);
  await world.run(["ask", "--continue", "again"]);
  assert.match((await world.run(["session", "list"])).stdout, / completed +2 turns +[1-9]\d* tokens /);
});

test("[S7] [L1] on a terminal the columns of session list have headings, which leave with their column", async (t) => {
  const world = await withTwoTurns(t);
  const headings = async (columns: number): Promise<string[]> => {
    const terminal = new TestTerminal({ columns, rows: 24 });
    await world.run(["session", "list"], { terminal });
    return (await terminal.lines())[0]?.trimEnd().split(/ {2,}/) ?? [];
  };
  const [first, last] = ["session", "name"];
  const all = [first, "last used", "last turn", "turns", "tokens", "repository", "agent/conversation", last];
  assert.deepEqual(await headings(200), all);
  assert.deepEqual(await headings(60), [first, "last used", "turns", last]);
});

test("[R2] [L1] of a turn whose process was lost, show has the output so far and names --answer; its call has no response", async (t) => {
  const world = await cliWorld(t);
  const call = world.start(["ask", "greet", "--new"], { env: { APTOVE_OFFLINE_DELAY_MS: "40" } });
  await call.saw("built-in");
  // No process runs the turns of a copy.
  const copied = join(world.copy, "copied");
  cpSync(world.dataDir, copied, { recursive: true });
  call.signals.emit("SIGINT");
  await call.finished;
  const inCopy = (...argv: string[]) => world.run(["session", ...argv], { env: { APTOVE_DATA_DIR: copied } });
  const { stdout } = await inCopy("show");
  assert.match(stdout, /^ {2}output so far: This is aptove's/m);
  const name = /all of it: aptove session show ([0-9a-f]{8}:1) --answer$/m.exec(stdout)?.[1] ?? assert.fail(stdout);
  assert.match((await inCopy("show", name, "--answer")).stdout, /^This is aptove's/);
  assert.equal((await inCopy("show", name, "--request")).exit, 0);
  const none = await inCopy("show", name, "--response");
  assert.match(none.stderr, /the model call 1 of turn .* has no response: the turn ended .*\nfix: .*--answer\n$/);
  assert.match((await inCopy("show", name, "--response", "--step", "2")).stderr, /has no model call 2 /);
});
