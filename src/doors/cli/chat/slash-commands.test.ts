/** The commands of a chat that tell of its surroundings, and what a line may name (L2, W4, X1). */
import assert from "node:assert/strict";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cliWorld, type CliWorld } from "../../../../testing/cli.ts";
import { TestTerminal } from "../../../../testing/terminal.ts";
import type { WireSession, WireTurn } from "../../../client/client.ts";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";
import { mentionedFiles } from "./mentioned-files.ts";

async function world(t: TestContext): Promise<CliWorld> {
  const made = await cliWorld(t, {
    providers: [scriptedProvider({ name: "offline", script: () => "**ok** `\u001b[1m`\r\n" })],
  });
  await made.run(["index"]);
  return made;
}

async function sessions(on: CliWorld): Promise<WireSession[]> {
  const { stdout } = await on.run(["session", "list", "--json"]);
  return (JSON.parse(stdout) as { sessions: WireSession[] }).sessions;
}

test("[L2] [W1] a chat is in the workspace default, which it makes, or in the one that is named", async (t) => {
  const on = await world(t);
  const stdin = "/workspace\none\n";
  const first = await on.run(["chat"], { stdin });
  assert.match(
    first.stdout,
    /^id +default\nprovider +offline\nmodel +as configured\nsession\.md +0 messages\nfolder +.*\/workspaces\/default\n/,
  );
  const again = await on.run(["chat", "--continue"], { stdin: "/workspace\ntwo\n/workspace\n" });
  assert.match(again.stdout, /session\.md +2 messages\n[^]*model +scripted-1\n/);
  const id = (await on.run(["workspace", "create", "--name", "mine"])).stdout.trim();
  const second = await on.run(["chat", "--workspace", id.slice(-8)], { stdin });
  assert.match(second.stdout, new RegExp(`^id +${id}\nname +mine\n`));
  assert.deepEqual(
    (await sessions(on)).map(({ workspaceId }) => workspaceId),
    [id, "default"],
  );
  const unknown = await on.run(["chat", "--workspace", "beef1234"], { stdin });
  assert.equal(unknown.exit, 1);
  assert.match(unknown.stderr, /there is no workspace "beef1234"/);
});

test("[L2] [W4] /clear starts a new session with an empty transcript; the old one is kept", async (t) => {
  const on = await world(t);
  const transcript = () => readFile(join(on.dataDir, "workspaces/default/session.md"), "utf8");
  await on.run(["chat"], { stdin: "first words\n" });
  assert.match(await transcript(), /first words/);
  const { stdout } = await on.run(["chat", "--continue"], { stdin: "/clear\n/workspace\nother words\n" });
  assert.match(stdout, /session\.md +0 messages/);
  assert.match(await transcript(), /other words/);
  assert.doesNotMatch(await transcript(), /first words/);
  assert.deepEqual(
    (await sessions(on)).map(({ name }) => name),
    ["other words", "first words"],
  );
});

test("[W5] [L2] a chat begins with the person's edit of session.md, once, and prints a note", async (t) => {
  const provider = scriptedProvider({ name: "offline" });
  const on = await cliWorld(t, { providers: [provider] });
  const file = join(on.dataDir, "workspaces/default/session.md");
  const cwd = join(on.dataDir, "..");
  await on.run(["chat"], { stdin: "first words\n", cwd });
  await writeFile(file, "## User\n\nWho am I?\n\n## Assistant\n\nYou are Ada.\n");
  const edited = await on.run(["chat"], { stdin: "go on\n", cwd });
  assert.match(edited.stderr, /session\.md of workspace default was edited; the session begins with it/);
  const given = JSON.stringify(provider.exchanges.at(-1)?.context);
  assert.ok(given.includes("You are Ada.") && !given.includes("first words"));
  const next = await on.run(["chat", "--new"], { stdin: "anew\n", cwd });
  assert.doesNotMatch(next.stderr, /session\.md/);
  assert.doesNotMatch(JSON.stringify(provider.exchanges.at(-1)?.context), /Ada/);
  await writeFile(file, Buffer.from([0xff, 0xfe, 0x00]));
  const damaged = await on.run(["chat"], { stdin: "and now\n", cwd });
  assert.match(damaged.stderr, /could not be read and was moved aside/);
  assert.equal(damaged.exit, 0);
});

test("[W3] [L2] a chat in a workspace, or outside of a repository, goes on there and says how to begin anew", async (t) => {
  const on = await world(t);
  const id = (await on.run(["workspace", "create"])).stdout.trim();
  await on.run(["chat", "-w", id], { stdin: "there\n" });
  const next = await on.run(["chat", "-w", id], { stdin: "there again\n" });
  assert.match(next.stderr, /^goes on in session \w{8} of workspace .*; to begin anew: aptove chat --new$/m);
  const cwd = join(on.dataDir, "..");
  for (const line of ["nowhere\n", "nowhere again\n"]) await on.run(["chat"], { stdin: line, cwd });
  await on.run(["chat", "--new"], { stdin: "anew\n", cwd });
  for (const line of ["here\n", "here again\n"]) await on.run(["chat"], { stdin: line });
  assert.deepEqual(
    (await sessions(on)).map(({ name, turnCount }) => [name, turnCount]),
    [
      ["here again", 1],
      ["here", 1],
      ["anew", 1],
      ["nowhere", 2],
      ["there", 2],
    ],
  );
});

test("[L2] --continue in a workspace continues its newest session, and outside of git one without a repository", async (t) => {
  const on = await world(t);
  const id = (await on.run(["workspace", "create"])).stdout.trim();
  await on.run(["chat", "-w", id], { stdin: "there\n" });
  await on.run(["chat"], { stdin: "here\n" });
  await on.run(["chat", "-w", id, "--continue"], { stdin: "there again\n" });
  const cwd = join(on.dataDir, "..");
  await on.run(["chat"], { stdin: "nowhere\n", cwd });
  await on.run(["chat", "--continue"], { stdin: "nowhere again\n", cwd });
  assert.deepEqual(
    (await sessions(on)).map(({ name, turnCount }) => [name, turnCount]),
    [
      ["nowhere", 2],
      ["there", 2],
      ["here", 1],
    ],
  );
  const none = await on.run(["chat", "-w", (await on.run(["workspace", "create"])).stdout.trim(), "-c"], {
    stdin: "x\n",
  });
  assert.match(none.stderr, /has no session here yet/);
});

test("[L2] /context says how much the model holds; /mode says what a mode means; /details needs a call", async (t) => {
  const on = await world(t);
  const stdin = "one\ntwo\n/context\n/mode\n/mode edit\n/details\n/details x\n";
  const { stdout, stderr } = await on.run(["chat"], { stdin });
  assert.match(stdout, /^4 messages in context · [\d,]+ tokens · \d+ chunks? and 0 files sent by the last turn$/m);
  assert.match(stderr, /^mode ask: nothing is written or run$/m);
  assert.match(stderr, /^mode edit: answers may propose changes, for aptove apply$/m);
  assert.match(stderr, /that call is no longer kept/);
  assert.match(stderr, /"x" is not the number of a call \(usage\)/);
});

test("[L2] piped, an answer is its text, byte for byte, and nothing is painted", async (t) => {
  const on = await world(t);
  const { stdout, stderr } = await on.run(["chat"], { stdin: "one\n", env: { TERM: "xterm" } });
  assert.equal(stdout, "**ok** `\u001b[1m`\r\n");
  assert.doesNotMatch(stderr, /\u001b/);
});

test("[L2] [X1] @path in a line sends that file with it; all else that begins with @ is a word", async (t) => {
  const on = await world(t);
  await on.write("with blank.md", "text\n");
  const stdin = 'see @src/greet.ts, @"with blank.md" and @someone or a@README.md\n';
  await on.run(["chat"], { stdin });
  const shown = await on.run(["session", "log", "last", "--json"]);
  const [turn] = (JSON.parse(shown.stdout) as { turns: WireTurn[] }).turns;
  assert.deepEqual(turn?.manifest.activeFiles.map(({ path }) => path).toSorted(), ["src/greet.ts", "with blank.md"]);
  const found = (text: string): string[] => mentionedFiles(text, { folder: on.copy, root: on.copy }).files;
  await symlink("/etc/passwd", join(on.copy, "link"));
  assert.deepEqual(found("@/etc/passwd @../data/version @src @nothing.ts @link @"), []);
  assert.deepEqual(found("(@README.md) @README.md. @./README.md @README.md"), ["README.md", "./README.md"]);
});

test("[L2] [X1] a path after @ that sends nothing is named, with the file that was meant; a plain word is not", async (t) => {
  const on = await world(t);
  const { stderr } = await on.run(["chat"], { stdin: "see @src/gret.ts, @README and @someone\n" });
  assert.match(stderr, /^@src\/gret\.ts is not sent: there is no such file; did you mean @src\/greet\.ts\?$/m);
  assert.match(stderr, /^@README is not sent: .* did you mean @README\.md\?$/m);
  assert.doesNotMatch(stderr, /someone/);
  const notes = (text: string): string[] => mentionedFiles(text, { folder: on.copy, root: on.copy }).notes;
  assert.deepEqual(notes("@src @other.ts @types/node @ada @Component @/nowhere/x mail@none.ts"), [
    "@src is not sent: it is a folder; name its files",
    "@other.ts is not sent: there is no such file",
  ]);
  const [outside = ""] = notes(`@${on.dataDir}/version`);
  assert.match(outside, /is not sent: (it is outside|there is no such file)/);
});

test("[L2] words after chat are its first instruction, from a terminal and before the lines of a pipe", async (t) => {
  const on = await world(t);
  const { stdout } = await on.run(["chat", "first", "words"], { stdin: "second\n" });
  assert.equal(stdout, "**ok** `\u001b[1m`\r\n".repeat(2));
  const terminal = new TestTerminal({ columns: 80, rows: 30 });
  const chat = on.start(["chat", "greet"], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  await chat.saw("**ok**");
  chat.input.write("/quit\r");
  assert.equal((await chat.finished).exit, 0);
  assert.match(await terminal.text(), /^› greet\nwith 2 chunks\n\n\*\*ok\*\*/m);
  assert.deepEqual(
    (await sessions(on)).map(({ name, turnCount }) => [name, turnCount]),
    [
      ["greet", 1],
      ["first words", 2],
    ],
  );
});

test("[L2] [T12] a chat that continues shows the last turns and how many came before, also one that failed", async (t) => {
  const providers = [
    scriptedProvider({
      name: "offline",
      script: (call) => {
        const text = JSON.stringify(call.items.at(-1));
        if (text.includes("break")) return [{ fails: "provider_rejected" as const, message: "no more" }];
        return `**answer** to ${/line \d/.exec(text)?.[0] ?? ""}`;
      },
    }),
  ];
  const on = await cliWorld(t, { providers });
  await on.run(["index"]);
  await on.run(["chat"], { stdin: "line 1\nline 2\nline 3\nline 4\nbreak it\n" });
  const terminal = new TestTerminal({ columns: 80, rows: 60 });
  const chat = on.start(["chat", "-c"], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  await chat.saw("no more");
  chat.input.write("/quit\r");
  await chat.finished;
  const screen = await terminal.text();
  assert.match(screen, /^session \w{8} · 5 turns · [^›]*\/help lists the commands$/m);
  assert.match(screen, /^last active .* · 2 earlier turns: aptove session log \w{8}$/m);
  assert.match(
    screen,
    /\n\n› line 3\n\n\*\*answer\*\* to line 3\n\n› line 4\n\n\*\*answer\*\* to line 4\n\n› break it\n/,
  );
  assert.match(screen, /^failed: .*no more/m);
  assert.doesNotMatch(screen, /line 2/);
  const piped = await on.run(["chat", "-c"], { stdin: "line 5\n" });
  assert.equal(piped.stdout, "**answer** to line 5\n");
});

test("[P1] [L2] a session that begins on the command line says which folder it is about, so that an editor lists it", async (t) => {
  const on = await world(t);
  await on.run(["ask", "one"]);
  await on.run(["chat"], { stdin: "two\nthree\n" });
  const folders = (await sessions(on)).map(({ metadata }) => metadata);
  assert.deepEqual(folders, [{ "aptove.dev/cwd": on.copy }, { "aptove.dev/cwd": on.copy }]);
});

test("[L2] [S7] /sessions and --resume list the sessions about this repository, and open the one that is chosen", async (t) => {
  const on = await world(t);
  await on.run(["chat"], { stdin: "about apples\n" });
  await on.run(["chat"], { stdin: "about pears\nand more\n" });
  const terminal = new TestTerminal({ columns: 80, rows: 60 });
  const chat = on.start(["chat", "--resume"], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
  await chat.saw("open which?");
  assert.match(
    await terminal.text(),
    /^ 1 {2}\w{8} {2}[\d :-]{16} {2}2 turns {2}about pears\n 2 {2}.* {2}1 turn +about apples$/m,
  );
  assert.match(await terminal.text(), /^sessions about this repository; all shows the others too$/m);
  chat.input.write("2\r");
  await chat.saw("› about apples");
  chat.input.write("on with apples\r");
  await chat.saw("› on with apples");
  chat.input.write("/sessions pears\r");
  await chat.saw("with these words");
  chat.input.write("1\r");
  await chat.saw("› and more");
  chat.input.write("/sessions\r");
  await chat.saw("all shows the others too", 2);
  // A command is no word to look for.
  chat.input.write("/quit\r");
  assert.equal((await chat.finished).exit, 0);
  assert.deepEqual(
    (await sessions(on)).map(({ name, turnCount }) => [name, turnCount]),
    [
      ["about apples", 2],
      ["about pears", 2],
    ],
  );
  const piped = await on.run(["chat", "--resume"], { stdin: "x\n" });
  assert.equal(piped.exit, 2);
  assert.match(piped.stderr, /--resume asks .*\nfix: name it: --session/);
});

test("[G3] [L2] [H1] /model lists what the providers really offer, with window and price, and takes one of another provider", async (t) => {
  const offering = (name: string, model: string, ids: readonly string[]) =>
    Object.assign(scriptedProvider({ name, model }), {
      models: async () => ids.map((id) => ({ id, contextTokens: id === "brand-new" ? 4_321 : null })),
    });
  const providers = [
    offering("offline", "house-model", ["brand-new"]),
    offering("anthropic", "claude-sonnet-5", ["claude-sonnet-5", "claude-next"]),
  ];
  const on = await cliWorld(t, { providers });
  await on.run(["index"]);
  const stdin = "/model\n/model anthropic/claude-sonnet-5\n/model -\n";
  const { stdout, stderr } = await on.run(["chat"], { stdin });
  assert.deepEqual(
    stdout.match(/\S+/g)?.filter((word) => /model|new|claude/.test(word)),
    ["house-model", "brand-new", "anthropic/claude-sonnet-5", "anthropic/claude-next"],
  );
  assert.match(stdout, /^ *brand-new +4,321 tokens$/m);
  assert.match(stdout, /^ *anthropic\/claude-sonnet-5 +1,000,000 tokens · \$\d+ in, \$\d+ out per million$/m);
  assert.match(stderr, /uses the model anthropic\/claude-sonnet-5\nuses the configured model$/m);
});

test("[G3] [L3] with the offline model alone, /model lists that one", async (t) => {
  const on = await cliWorld(t);
  const { stdout } = await on.run(["chat"], { stdin: "/model\n" });
  assert.match(stdout, /^ *\S*offline\S*(?: +[\d,]+ tokens)? +\$0 in, \$0 out per million\n$/);
});

test("[C6] [L2] /compact has the next line begin with a summary, once; with a line it sends that at once", async (t) => {
  const isSummary = (prompt: string | null): boolean => prompt?.startsWith("You condense") === true;
  const provider = scriptedProvider({
    name: "offline",
    script: ({ prompt }) => (isSummary(prompt) ? "the gist" : "fine"),
  });
  const on = await cliWorld(t, { providers: [provider] });
  await on.run(["index"]);
  const stdin = "/compact\nremember heron\n/compact\nwhich word?\nagain\n/compact and go on\n";
  const { exit, stderr } = await on.run(["chat"], { stdin });
  assert.equal(exit, 0, stderr);
  assert.match(stderr, /^there is nothing to summarise yet$/m);
  assert.match(stderr, /^the next line begins with a summary of the conversation so far$/m);
  const asked = provider.exchanges.map(({ call, context }) =>
    isSummary(call.prompt) ? "summary" : /INSTRUCTION\]\\n([^"]+?)"/.exec(JSON.stringify(context.at(-1)))?.[1],
  );
  assert.deepEqual(asked, ["remember heron", "summary", "which word?", "again", "summary", "and go on"]);
});

test("[L2] a plain chat in a repository says which session could go on and how, and nothing where a new one was asked for", async (t) => {
  const on = await world(t);
  const opened = async (...argv: string[]): Promise<string> => {
    const terminal = new TestTerminal({ columns: 80, rows: 30 });
    const chat = on.start(["chat", ...argv], { terminal, env: { TERM: "xterm", NO_COLOR: "1" } });
    chat.input.write("/quit\r");
    await chat.finished;
    return (await terminal.text()).replaceAll(/\s+/g, " ");
  };
  assert.doesNotMatch(await opened(), /the newest session here/);
  await on.run(["chat"], { stdin: "where is it greeted?\n" });
  const [session] = await sessions(on);
  const id = session?.id.slice(-8);
  const hint = new RegExp(
    `the newest session here is ${id} "where is it greeted\\?" of [\\d-]{10} [\\d:]{5}; /sessions opens it, and so does aptove chat --continue`,
  );
  assert.match(await opened(), hint);
  assert.doesNotMatch(await opened("--new"), /the newest session here/);
  assert.doesNotMatch(await opened("--continue"), /the newest session here/);
});
