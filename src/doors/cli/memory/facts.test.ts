import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";

test("[M3] [L1] a fact is added, given to a turn that shows it, changed and forgotten, and the turns that had it are named", async (t) => {
  const world = await cliWorld(t);
  await world.run(["index"]);
  const none = await world.run(["memory", "list"]);
  assert.deepEqual([none.exit, none.stdout], [0, ""]);
  assert.match(none.stderr, /nothing is remembered; add a fact/);
  const added = await world.run(["memory", "add", "We", "deploy", "on", "Fridays."]);
  const id = added.stdout.trim();
  assert.match(id, /^f-[0-9a-f]{12}$/, added.stderr);
  const piped = await world.run(["memory", "add", "-"], { stdin: "The office is in Bern.\n" });
  assert.equal(piped.exit, 0, piped.stderr);
  const listed = await world.run(["memory", "list"]);
  assert.match(
    listed.stdout,
    new RegExp(`^${id}  [-\\d]+ [\\d:]+  We deploy on Fridays\\.\\n.*The office is in Bern\\.\\n$`),
  );
  const asked = await world.run(["ask", "-w", "default", "when do we deploy?"]);
  assert.equal(asked.exit, 0, asked.stderr);
  assert.match(asked.stderr, /^memory: 2 facts$/m);
  const dry = await world.run(["ask", "-w", "default", "--dry-run", "when do we deploy?"]);
  assert.match(dry.stdout, /^ +context .*2 facts of the memory$/m);
  const shown = await world.run(["session", "show"]);
  assert.match(shown.stdout, new RegExp(`memory\\n +sent +${id} +[0-9a-f]{8} +written by a person`));
  const request = await world.run(["session", "show", "--request"]);
  assert.match(request.stdout, /\[MEMORY\].*We deploy on Fridays\./);
  const edited = await world.run(["memory", "edit", id.slice(0, 6), "We", "deploy", "daily."]);
  assert.equal(edited.stdout, `${id} changed\n`, edited.stderr);
  assert.match((await world.run(["memory", "show", id])).stdout, /^from +a person\n\nWe deploy daily\.\n$/m);
  const unasked = await world.run(["memory", "forget", id]);
  assert.equal(unasked.exit, 2);
  assert.match(unasked.stderr, /forget f-\w+ "We deploy daily\." permanently\?\W.*\nfix: .*--yes/s);
  const forgot = await world.run(["memory", "forget", id, "--yes"]);
  assert.match(
    forgot.stdout,
    new RegExp(`^forgot ${id}; 1 turn of yours was given it\\n  session \\w{8}: turn 1\\n.*purge`),
  );
  const again = await world.run(["memory", "forget", id, "--json"]);
  const { ids, turns } = JSON.parse(again.stdout) as { ids: string[]; turns: object[] };
  assert.deepEqual([ids, turns.length], [[], 1]);
  const next = await world.run(["ask", "--continue", "and now?"]);
  assert.match(next.stderr, /facts_forgotten|no longer in the memory/);
  assert.doesNotMatch((await world.run(["session", "show", "--request"])).stdout, /Fridays|daily/);
  const folder = join(world.dataDir, "workspaces", "default", "memory");
  assert.equal(readdirSync(folder).length, 1);
});

test("[M3] [L1] a fault of a file, an id or a workspace is named", async (t) => {
  const world = await cliWorld(t);
  await world.run(["memory", "add", "A fact."]);
  writeFileSync(join(world.dataDir, "workspaces", "default", "memory", "broken.md"), "---\nno end");
  const listed = await world.run(["memory", "list"]);
  assert.match(listed.stderr, /not used: broken: the lines that begin with --- have no end/);
  const refusals: [string[], RegExp, number][] = [
    [["show", "f-none"], /there is no fact "f-none" \(not_found\)\nfix: see: aptove memory list/, 1],
    [["forget", "f-none"], /there is no fact "f-none" \(not_found\)\nfix: see: aptove memory list/, 1],
    [["edit", "f-", " "], /the text of the fact is empty/, 2],
    [["add", "x".repeat(5_000)], /\(request_invalid\)|\(fact_invalid\)/, 1],
    [["list", "-w", "no such one"], /there is no workspace "no such one" \(workspace_unknown\)/, 1],
  ];
  for (const [argv, text, exit] of refusals) {
    const refused = await world.run(["memory", ...argv]);
    assert.match(refused.stderr, text, argv.join(" "));
    assert.equal(refused.exit, exit, argv.join(" "));
  }
});

test("[M3] [V5] [L2] a chat asks before a fact is written, shows its text, and `session show` has the turn that it came from", async (t) => {
  const fact = "We deploy on Fridays only.";
  const provider = scriptedProvider({
    name: "offline",
    script: ({ items }) => {
      const last = items.at(-1);
      if (last?.type === "tool_result") return `result: ${last.output}`;
      return JSON.stringify(last).includes("remember it") ? [{ calls: "remember", with: { fact } }] : "ok";
    },
  });
  const world = await cliWorld(t, { providers: [provider] });
  await world.run(["index"]);
  const terminal = new TestTerminal({ columns: 80, rows: 30 });
  const chat = world.start(["chat"], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  chat.input.write("remember it\r");
  await chat.saw("allow? [y/N]");
  await chat.saw(fact);
  chat.input.write("y\r");
  await chat.saw("result: Remembered as the fact f-");
  chat.input.write("/quit\r");
  assert.equal((await chat.finished).exit, 0);
  const next = await world.run(["chat", "--new"], { stdin: "when do we deploy?\n" });
  assert.match(next.stderr, /^memory: 1 fact$/m);
  assert.match((await world.run(["session", "show"])).stdout, /memory\n +sent +f-\w+ +\w{8} +from turn [0-9a-f]{8}/);
});
