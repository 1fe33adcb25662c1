/** Declares the program with its options and its help. The code of a command is loaded when the command runs (L1). */
import { Command, Option } from "commander";
import type { AcpOptions } from "../commands/acp.ts";
import type { AskOptions } from "../commands/ask.ts";
import type { ChatOptions } from "../chat/chat-state.ts";
import type { ConfigOptions } from "../commands/config.ts";
import type { IndexOptions } from "../commands/index-repository.ts";
import type { McpOptions } from "../commands/mcp.ts";
import type { ServeOptions } from "../commands/serve.ts";
import { addContextCommands } from "./declare-contexts.ts";
import { addDeviceCommands } from "./declare-devices.ts";
import { wholeNumber, type RunCommand } from "./declaring.ts";
import { addPeopleCommands } from "./declare-people.ts";
import { addSessionCommands } from "./declare-sessions.ts";
import { addWorkspaceCommands } from "./declare-workspaces.ts";

export function buildProgram(version: string, run: RunCommand): Command {
  const program = new Command("aptove")
    .description("Sessions with a language model about your code, that nothing can end.")
    .version(version, "--version", "print the version")
    .option("--json", "print JSON instead of text")
    .option("--server <url>", "use the server there (or APTOVE_SERVER) instead of this machine's data")
    .option("--key <key>", "API key for that server (or APTOVE_KEY)")
    .option("--no-color", "print without colours (or NO_COLOR)")
    .helpOption("-h, --help", "print help")
    .addHelpText(
      "after",
      `
Examples:
  aptove ask "where is the head of a session moved?"
  git diff | aptove ask --continue "review this"
  aptove chat --continue
  aptove ask --mode edit "rename foo to bar" && aptove apply
  aptove session log

Exit codes: 0 fine, 1 failed, 2 wrong use, 130 interrupted.`,
    );
  addTurnCommands(program, run);
  addWorkCommands(program, run);
  addSessionCommands(program.command("session").description("sessions and their turns"), run);
  addWorkspaceCommands(program.command("workspace").description("where devices and people work"), run);
  addPeopleCommands(program, run);
  addDeviceCommands(program.command("device").description("devices with a token of their own"), run);
  addContextCommands(program.command("context").description("contexts that the org keeps, in versions"), run);
  addMcpCommands(program.command("mcp").description("servers of tools that speak MCP"), run);
  addConfigCommands(program.command("config").description("the configuration"), run);
  addServerCommands(program, run);
  return program;
}

function collect(value: string, former: string[]): string[] {
  return [...former, value];
}

function addTurnOptions(command: Command): Command {
  return command
    .option("-s, --session <id>", "continue this session (an id, its end, or `last`)")
    .option("-c, --continue", "continue the newest session of this repository")
    .option("-n, --new", "start a new session (the default)")
    .option("-f, --file <path>", "send this file; may be repeated", collect, [])
    .option("--no-modified", "do not send the files that git says are modified")
    .option("-m, --mode <mode>", "mode of the answer: ask, edit, or one of the configuration")
    .option("--model <model>", "model to call")
    .option("--context <id>", "conversation context of the configuration")
    .option("--repo <name>", "repository to search; without it: the one of this folder")
    .option("--lang <language>", "search only code of this language");
}

function addTurnCommands(program: Command, run: RunCommand): void {
  addTurnOptions(program.command("ask"))
    .description("ask once; the answer streams to standard output")
    .argument("[instruction...]", "what you want; - waits for standard input")
    .option("--fork <from>", "in a new session below this turn, or below the head of this session")
    .option("--rerun <turn>", "again what this turn did, beside it")
    .option("--queue", "if a turn is running: after it")
    .option("--interrupt", "if a turn is running: stop it first")
    .option("--steer", "if a turn is running: tell it this, and wait for its answer")
    .option("--attach <file>", "give this file, or the page at this address; may be repeated", collect, [])
    .option("--inline", "put what is attached into the model's context; without it, the model reads it with a tool")
    .option("--events", "print every event as a line of JSON")
    .action((words: string[], options: AskOptions) =>
      run(async (call) => (await import("../commands/ask.ts")).ask(call, words, options)),
    );
  addTurnOptions(program.command("chat"))
    .description("talk, line by line; /help tells its commands")
    .option("-w, --workspace <id>", "workspace to talk in (an id, a part of one, or `default`)")
    .option("--no-tools", "offer the model no files and commands of this machine")
    .action((options: ChatOptions) => run(async (call) => (await import("../chat/chat.ts")).chat(call, options)));
}

function addWorkCommands(program: Command, run: RunCommand): void {
  program
    .command("index")
    .description("read a repository into the index that answers are looked up in")
    .argument("[path]", "a folder of the repository; without it: this one")
    .option("--rebuild", "throw the index away and build it anew")
    .option("--repo <name>", "name to index it under")
    .option("--commit [name]", "index what a commit holds, and not the files as they are; without a name: HEAD")
    .option("--org <id>", "organisation that the index is for, an id or a name; without it: this data folder's own")
    .action((path: string | undefined, options: IndexOptions) =>
      run(async (call) => (await import("../commands/index-repository.ts")).indexCommand(call, path, options)),
    );
  program
    .command("search")
    .description("sessions that hold all of the words")
    .argument("<words...>", "each may be anywhere in the session")
    .addOption(new Option("--limit <n>", "how many").argParser(wholeNumber(1, 200)).default(20))
    .action((words: string[], options: { limit: number }) =>
      run(async (call) => (await import("../commands/search.ts")).search(call, words, options)),
    );
  program
    .command("apply")
    .description("write the changes that an answer in edit mode proposed: all of them or none")
    .argument("[from]", "a turn's id, `last`, or a file that ends in .json", "last")
    .option("--dry-run", "show the changes and write nothing")
    .option("-y, --yes", "do not ask")
    .action((from: string, options: { dryRun?: boolean; yes?: boolean }) =>
      run(async (call) => (await import("../commands/apply.ts")).apply(call, from, options)),
    );
}

function addMcpCommands(mcp: Command, run: RunCommand): void {
  const commands = () => import("../commands/mcp.ts");
  mcp
    .command("list")
    .description("the configured servers, and where each comes from; connects to none")
    .option("--workspace <id>", "what counts in this workspace; without it: default")
    .action((options: McpOptions) => run(async (call) => (await commands()).listMcpServers(call, options)));
  mcp
    .command("test")
    .description("start each server, or connect to it, and show what it offers")
    .argument("[name]", "only this one")
    .option("--workspace <id>", "what counts in this workspace; without it: default")
    .action((name: string | undefined, options: McpOptions) =>
      run(async (call) => (await commands()).testMcpServers(call, name, options)),
    );
}

function addConfigCommands(config: Command, run: RunCommand): void {
  const commands = () => import("../commands/config.ts");
  config
    .command("init")
    .description("write a config.toml in which every key is explained")
    .option("--force", "overwrite the one that is there")
    .action((options: { force?: boolean }) => run(async (call) => (await commands()).initConfig(call, options)));
  config
    .command("show")
    .description("the effective values, secrets masked, and where each comes from")
    .option("--workspace <id>", "what counts in this workspace")
    .action((options: ConfigOptions) => run(async (call) => (await commands()).showConfig(call, options)));
  config
    .command("check")
    .description("whether the configuration is valid and can work, and that of every workspace")
    .option("--workspace <id>", "only what counts in this workspace")
    .action((options: ConfigOptions) => run(async (call) => (await commands()).checkConfig(call, options)));
}

function addServerCommands(program: Command, run: RunCommand): void {
  const at = (command: Command): Command =>
    command
      .option("--host <address>", "address to listen on")
      .addOption(new Option("--port <n>", "port to listen on; 0 takes a free one").argParser(wholeNumber(0, 65_535)));
  at(program.command("serve"))
    .description("serve this machine's data over HTTP until Ctrl-C")
    .action((options: ServeOptions) =>
      run(async (call) => (await import("../commands/serve.ts")).serve(call, options)),
    );
  at(program.command("start"))
    .description("index this repository, make a first key, and serve (npm start)")
    .action((options: ServeOptions) =>
      run(async (call) => (await import("../commands/serve.ts")).start(call, options)),
    );
  program
    .command("acp")
    .description("the agent for an editor, over standard input and output (Agent Client Protocol)")
    .addOption(new Option("--fresh", "begin every new session empty").conflicts("continue"))
    .option("--continue", "begin every new session where the workspace's last one was")
    .option("--workspace <id>", "workspace of new sessions; without it: default")
    .option("-m, --mode <mode>", "mode of new sessions: ask, edit (the default), or one of the configuration")
    .action((options: AcpOptions) => run(async (call) => (await import("../commands/acp.ts")).acp(call, options)));
  program
    .command("gc")
    .description("delete stored files that no turn needs")
    .option("--dry-run", "list them and delete nothing")
    .action((options: { dryRun?: boolean }) =>
      run(async (call) => (await import("../commands/session-lifecycle.ts")).collectGarbage(call, options)),
    );
  program
    .command("backup")
    .description("copy this machine's sessions and workspaces, whole, while they are used")
    .argument("<folder>", "a folder that is not there yet")
    .action((folder: string) => run(async (call) => (await import("../commands/backup.ts")).backup(call, folder)));
  program
    .command("restore")
    .description("bring a backup back, into a data folder without sessions")
    .argument("<folder>", "what aptove backup made")
    .action((folder: string) => run(async (call) => (await import("../commands/backup.ts")).restore(call, folder)));
  program
    .command("doctor")
    .description("what works here, what does not, and how to mend it")
    .action(() => run(async (call) => (await import("../commands/doctor.ts")).doctor(call)));
}
