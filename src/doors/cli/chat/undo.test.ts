/** `/undo` of a chat whose tools wrote files. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld, type LiveCli } from "../../../../testing/cli.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import { fileTools } from "../../../tools/files/file-tools.ts";
import type { Tool } from "../../../tools/tool.ts";
import { scriptedProvider, type ScriptedPart } from "../../../providers/scripted/scripted.ts";

const write = (path: string, content: string): ScriptedPart => ({ calls: "write", with: { path, content } });

/** The first instruction reads and writes files in two steps. Each other one is answered. */
async function world(t: TestContext): Promise<CliWorld> {
  const script = scriptedProvider({
    name: "offline",
    script: ({ items }, n) => {
      if (n === 1)
        return [
          { calls: "read", with: { path: "src/greet.ts" } },
          { calls: "read", with: { path: "b.txt" } },
        ];
      if (n === 2) return [write("src/greet.ts", "one\n"), write("b.txt", "B\n"), write("new/c.txt", "C\n")];
      if (n === 3) return [write("src/greet.ts", "two\n")];
      return JSON.stringify(items).includes("two") ? "all written" : "answered";
    },
  });
  const sessionTools: Tool[] = [];
  const on = await cliWorld(t, { providers: [script], sessionTools });
  sessionTools.push(...fileTools({ folders: [on.copy] }));
  await on.write("b.txt", "b\n");
  await on.run(["index"]);
  return on;
}

function chatting(on: CliWorld): LiveCli & { type(line: string): void; screen(): Promise<string> } {
  const terminal = new TestTerminal({ columns: 100, rows: 60 });
  const chat = on.start(["chat"], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  return { ...chat, type: (line) => void chat.input.write(`${line}\r`), screen: () => terminal.text() };
}

test("[L2] [T12] /undo goes back before the instruction, and offers to put back what its tools wrote and no one else changed", async (t) => {
  const on = await world(t);
  const path = (name: string): string => join(on.copy, name);
  const before = readFileSync(path("src/greet.ts"), "utf8");
  const chat = chatting(on);
  chat.type("write");
  await chat.saw("allow? [y/a/N]");
  chat.type("a");
  await chat.saw("all written");
  assert.equal(readFileSync(path("src/greet.ts"), "utf8"), "two\n");
  writeFileSync(path("b.txt"), "mine\n");
  chat.type("/undo");
  await chat.saw("put 2 files back? [y/N]");
  assert.equal(readFileSync(path("src/greet.ts"), "utf8"), "two\n", "nothing is written before the answer");
  chat.type("y");
  await chat.saw("put back 2 files");
  assert.equal(readFileSync(path("src/greet.ts"), "utf8"), before);
  assert.equal(existsSync(path("new/c.txt")), false);
  assert.equal(readFileSync(path("b.txt"), "utf8"), "mine\n");
  chat.type("/session");
  await chat.saw("turns");
  chat.type("/undo");
  await chat.saw("there is no turn to undo");
  chat.type("/quit");
  assert.equal((await chat.finished).exit, 0);
  const screen = await chat.screen();
  assert.match(screen, /restore +src\/greet\.ts\n/);
  assert.match(screen, /remove +new\/c\.txt \(the turn made it\)/);
  assert.match(screen, /keep +b\.txt \(others changed it too\)/);
});

test("[L2] /undo leaves the files if the answer is no", async (t) => {
  const on = await world(t);
  const file = join(on.copy, "src/greet.ts");
  const chat = chatting(on);
  chat.type("write");
  await chat.saw("allow? [y/a/N]");
  chat.type("a");
  await chat.saw("all written");
  chat.type("/undo");
  await chat.saw("put 3 files back? [y/N]");
  chat.type("n");
  await chat.saw("files on disk are not changed");
  assert.equal(readFileSync(file, "utf8"), "two\n");
  chat.type("/quit");
  await chat.finished;
});
