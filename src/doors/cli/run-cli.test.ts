import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { cliWorld } from "../../../testing/cli.ts";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { errorCatalogue } from "../../domain/errors.ts";
import { fixOf, ownCodes } from "./failure.ts";
import { buildProgram } from "./declarations/declare-program.ts";

const main = fileURLToPath(new URL("../../main.ts", import.meta.url));

test("[L1] help and version are exit code 0, on standard output", async (t) => {
  const world = await cliWorld(t);
  const help = await world.run(["--help"]);
  assert.equal(help.exit, 0);
  assert.match(help.stdout, /Examples:\n {2}aptove ask/);
  assert.match(help.stdout, /Exit codes: 0 success, 1 failed, 2 wrong use, 130 interrupted/);
  assert.deepEqual(await world.run(["--version"]), { exit: 0, stdout: "0.0.0-test\n", stderr: "" });
  const ofLog = await world.run(["session", "log", "--help"]);
  assert.equal(ofLog.exit, 0);
  for (const argv of [
    ["help", "session", "log"],
    ["session", "help", "log"],
    ["help", "session", "log", "last"],
  ])
    assert.deepEqual(await world.run(argv), ofLog, argv.join(" "));
  assert.deepEqual(await world.run(["help"]), help);
});

test("[L1] the help names the commands in groups, breaks no line at 80 columns, and shows no empty default", async (t) => {
  const world = await cliWorld(t);
  const help = (await world.run(["--help"])).stdout;
  assert.match(help, /^Ask:\n {2}ask .*/m);
  assert.doesNotMatch(help, /^Commands:$/m);
  for (const argv of [[], ["session"], ["ask"], ["chat"], ["workspace"]]) {
    const { stdout } = await world.run([...argv, "--help"]);
    assert.doesNotMatch(stdout, /.{81}|default: \[\]/, argv.join(" "));
  }
});

test("[L1] an unknown command or option, and a missing argument, are exit code 2 with the way to the help", async (t) => {
  const world = await cliWorld(t);
  const cases: [string[], RegExp][] = [
    [["frob"], /unknown command 'frob' \(usage\)\nfix: see aptove --help/],
    [["budget", "set", "foo", "5"], /^error: <scope> cannot be 'foo'\. Allowed choices are session, /],
    [["session", "list", "--status", "x"], /^error: --status <status> cannot be 'x'\. Allowed choices are /],
    [["aks"], /unknown command 'aks' \(usage\)\nfix: did you mean aptove ask\? Or see aptove --help/],
    [["bogus"], /unknown command 'bogus' \(usage\)\nfix: see aptove --help$/m],
    [["check"], /fix: did you mean aptove config check\?/],
    [["help", "bogus"], /unknown command 'bogus' \(usage\)\nfix: see aptove --help$/m],
    [["session", "help", "lst"], /unknown command 'lst' .*\nfix: did you mean aptove session list\?/],
    [["help", "session", "lst"], /fix: did you mean aptove session list\?/],
    [["fork"], /fix: did you mean aptove session fork\?/],
    [["verify"], /fix: did you mean aptove session verify\?/],
    [["session", "lst"], /fix: did you mean aptove session list\? Or see aptove session --help/],
    [["ask", "--contineu"], /unknown option '--contineu' \(usage\)\nfix: did you mean --continue\? Or see aptove ask/],
    [["ask", "--bogus"], /unknown option '--bogus' \(usage\)\nfix: see aptove ask --help/],
    [["session", "rename", "x"], /missing required argument 'name' \(usage\)\nfix: see aptove session rename --help/],
    [["session", "show", "--turn", "zero"], /whole number from 1/],
    [["serve", "--port", "70000"], /whole number from 0 to 65535/],
    [["index", "a", "b"], /too many arguments/],
    [[], /Usage: aptove/],
  ];
  for (const [argv, expected] of cases) {
    const { exit, stdout, stderr } = await world.run(argv);
    assert.deepEqual([exit, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, expected);
  }
});

test("[L1] acp in a terminal says that it waits for an editor", async (t) => {
  const world = await cliWorld(t);
  const agent = world.start(["acp"], { isTerminal: true });
  await agent.saw("waiting for an editor");
  agent.input.end();
  assert.equal((await agent.finished).exit, 0);
});

test("[L1] with --json a usage error is reported like every failure", async (t) => {
  const world = await cliWorld(t);
  const cases: [string[], { message: string; fix: string }][] = [
    [["frob"], { message: "unknown command 'frob'", fix: "see aptove --help" }],
    [["ask", "--bogus"], { message: "unknown option '--bogus'", fix: "see aptove ask --help" }],
    [["session"], { message: "no command was given", fix: "see --help" }],
  ];
  for (const [argv, expected] of cases) {
    const { exit, stdout, stderr } = await world.run([...argv, "--json"]);
    assert.deepEqual([exit, stderr], [2, ""], argv.join(" "));
    assert.deepEqual(JSON.parse(stdout), { error: { code: "usage", ...expected } });
  }
});

test("[L1] a reader that stops after the first lines ends the command without an error", async (t) => {
  const dataDir = await temporaryFolder(t);
  const env = { ...process.env, APTOVE_DATA_DIR: dataDir };
  const child = spawn(process.execPath, [main, "config", "show"], { env, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const exit = await new Promise((resolve) => child.on("close", resolve));
  assert.deepEqual([exit, stderr], [0, ""]);
});

test("[L1] a result that cannot be written is a failure with a fix, and the turn is kept", async (t) => {
  const world = await cliWorld(t);
  for (const argv of [["ask", "hello"], ["session", "list"], ["session", "list", "--json"], ["--help"]]) {
    const command = world.start(argv);
    command.io.stdout.destroy(Object.assign(new Error("no space left"), { code: "ENOSPC" }));
    const { exit, stderr } = await command.finished;
    assert.equal(exit, 1, argv.join(" "));
    assert.match(
      stderr,
      /^error: The storage device is full: the output .*\(storage_full\)\nfix: free /m,
      argv.join(" "),
    );
  }
  const unseen = world.start(["ask", "again"]);
  unseen.io.stderr.destroy(Object.assign(new Error("no space left"), { code: "ENOSPC" }));
  const { exit, stdout } = await unseen.finished;
  assert.equal(exit, 0);
  assert.match(stdout, /offline model/);
  assert.match((await world.run(["session", "list", "--status", "completed"])).stdout, /again[^]*hello/);
});

test("[L1] the program runs with nothing but a data folder in its environment", async (t) => {
  const dataDir = await temporaryFolder(t);
  const run = (argv: string[]) =>
    spawnSync(process.execPath, [main, ...argv], {
      env: { APTOVE_DATA_DIR: dataDir, PATH: process.env["PATH"], HOME: "" },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  const listed = run(["session", "list"]);
  assert.deepEqual([listed.status, listed.stdout], [0, ""], listed.stderr);
  assert.match(listed.stderr, /there are no sessions yet/);
  assert.equal(run(["frob"]).status, 2);
});

/** Every command by its path, with its long options. */
function commandsOf(command: Command, path = command.name()): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const child of command.commands) {
    for (const [name, options] of commandsOf(child, `${path} ${child.name()}`)) found.set(name, options);
  }
  if (command.commands.length === 0 || command.parent === null) {
    found.set(
      path,
      command.options.map((option) => option.long ?? ""),
    );
  }
  return found;
}

test("[L1] the documentation names every command and option, and no others", () => {
  const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");
  const commands = commandsOf(buildProgram("0", async () => undefined));
  const headings = [...page.matchAll(/^### `(aptove[^`]*?)(?: [[<].*)?`$/gm)].map((match) => match[1]);
  const expected = [...commands.keys()].filter((name) => name !== "aptove");
  assert.deepEqual(headings.toSorted(), expected.toSorted());
  for (const [name, options] of commands) {
    const start = name === "aptove" ? page.indexOf("## Options of every command") : page.indexOf(`### \`${name}`);
    const rest = page.slice(start + 4);
    const section = rest.slice(0, rest.search(/\n##/) === -1 ? undefined : rest.search(/\n##/));
    const named = [...section.matchAll(/^\| `(?:-\w, )?(--[\w-]+)/gm)].map((match) => match[1]);
    assert.deepEqual(named.toSorted(), options.toSorted(), `options of ${name}`);
  }
});

test("[L1] the documentation lists the codes that only the command line has", () => {
  const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");
  const start = page.indexOf("| code ");
  const listed = [...page.slice(start, page.indexOf("\n## ", start)).matchAll(/^\| `(\w+)`/gm)].map(
    (match) => match[1],
  );
  // The client's own; everything else comes from the server, whose codes are those of docs/errors.md.
  assert.deepEqual(listed, [...ownCodes, "unreachable", "stream_cut", "answer_invalid"]);
});

test("[L1] each error has a line with its fix", async (t) => {
  const world = await cliWorld(t);
  const cases: [string[], RegExp][] = [
    [
      ["ask", "x", "--file", "nope"],
      /^error: --file nope: does not exist \(usage\)\nfix: name a text file of this repo/m,
    ],
    [["ask", "x", "--attach", "nope"], /^error: --attach nope: does not exist \(usage\)\nfix: name a file that you/m],
    [["context", "show", "conversation", "nope"], /\(not_found\)\nfix: see them: aptove context list/],
    [["context", "history", "agent", "nope"], /\(not_found\)\nfix: see them: aptove context list/],
    [
      ["--server", "here", "session", "list"],
      /^error: --server here is no address \(usage\)\nfix: begin it with http/m,
    ],
    [["session", "list", "--since", "then"], /\(usage\)\nfix: write it like 2026-11-23/],
    [["audit", "--until", "then"], /\(usage\)\nfix: write it like 2026-11-23/],
    [["apply", "nope.json"], /\(usage\)\nfix: name a file with a file bundle, or a turn/],
    [["doctor", "x"], /\(usage\)\nfix: aptove doctor --attach <id>/],
  ];
  for (const [argv, expected] of cases) {
    const { exit, stderr } = await world.run(argv);
    assert.notEqual(exit, 0, argv.join(" "));
    assert.match(stderr, expected);
  }
});

test("[L1] each code of the catalogue has a fix, whichever server says it", () => {
  for (const code of Object.keys(errorCatalogue)) assert.ok(fixOf(code, null), code);
});
