/** Declares the program with its options and its help. The code of a command is loaded when the command runs (L1). */
import { Argument, Command, Option } from "commander";
import type { AcpOptions } from "../commands/acp.ts";
import type { AskOptions } from "../commands/ask.ts";
import type { ChatOptions } from "../chat/chat-state.ts";
import type { ConfigOptions } from "../commands/config.ts";
import type { IndexOptions } from "../commands/index-repository.ts";
import type { McpOptions } from "../commands/mcp.ts";
import type { ServeOptions } from "../commands/serve.ts";
import { exitCodes } from "../failure.ts";
import { completedShells, type CompletedShell } from "./completion-scripts.ts";
import { describeCommand } from "./described-commands.ts";
import { addContextCommands, addModelCommands } from "./declare-contexts.ts";
import { addDeviceCommands } from "./declare-devices.ts";
import { limits } from "../../../domain/limits.ts";
import { createsFolder, repositoryName, wholeNumber, type RunCommand } from "./declaring.ts";
import { addBudgetCommands } from "./declare-budgets.ts";
import { addPeopleCommands } from "./declare-people.ts";
import { addSessionCommands } from "./declare-sessions.ts";
import { addMemoryCommands } from "./declare-memory.ts";
import { addSkillCommands, addWorkspaceCommands } from "./declare-workspaces.ts";

export function buildProgram(version: string, run: RunCommand): Command {
  const program = new Command("aptove")
    .description("Durable sessions with a language model about your code.")
    .version(version, "--version", "print the version")
    .option("--json", "print JSON instead of text")
    .option("--server <url>", "use the server at this address (or APTOVE_SERVER) instead of this machine's data")
    .option("--key <key>", "API key for that server (or APTOVE_KEY)")
    .option("--no-color", "print without colours (or NO_COLOR)")
    .helpOption("-h, --help", "print help")
    .configureHelp({ minWidthToWrap: 24 })
    .addHelpText(
      "after",
      `
Examples:
  aptove ask "where is the head of a session moved?"
  git diff | aptove ask --continue "review this"
  aptove chat --continue
  aptove ask --mode edit "rename foo to bar" && aptove apply
  aptove session log

Exit codes: 0 success, 1 failed, 2 wrong use, 130 interrupted.`,
    );
  program.commandsGroup("Ask:");
  addTurnCommands(program, run);
  addWorkCommands(program, run);
  program.commandsGroup("Sessions, workspaces and settings:");
  addSessionCommands(program.command("session").description("sessions and their turns"), run);
  addWorkspaceCommands(program.command("workspace").description("workspaces of this machine"), run);
  addMemoryCommands(program.command("memory").description("facts that a workspace remembers"), run);
  addContextCommands(program.command("context").description("contexts and their versions"), run);
  addSkillCommands(program.command("skill").description("skills of the repository and of a workspace"), run);
  addModelCommands(program.command("model").description("the models that a turn can name"), run);
  addMcpCommands(program.command("mcp").description("MCP servers, and the sessions as one"), run);
  addConfigCommands(program.command("config").description("the configuration"), run);
  addKeyCommands(program, run);
  program.commandsGroup("Editors, servers and people:");
  addServerCommands(program, run);
  addDeviceCommands(program.command("device").description("paired devices"), run);
  addPeopleCommands(program, run);
  addBudgetCommands(program, run);
  program.commandsGroup("Maintenance and help:");
  addMaintenanceCommands(program, run);
  addDocumentCommands(program, version, run);
  return program;
}

/** Commands that print what is made from these declarations. */
function addDocumentCommands(program: Command, version: string, run: RunCommand): void {
  program
    .command("completion")
    .description("print the completion of a shell, for example: source <(aptove completion bash)")
    .addArgument(new Argument("<shell>", "the shell").choices(completedShells))
    .action((shell: CompletedShell) =>
      run(async (call) => {
        const { completionScript } = await import("./completion-scripts.ts");
        call.output.write(completionScript(shell, describeCommand(program)));
        return exitCodes.fine;
      }),
    );
  program
    .command("manual")
    .description("print the manual page, for example: aptove manual | man -l -")
    .action(() =>
      run(async (call) => {
        const { manualPage } = await import("./manual-page.ts");
        call.output.write(manualPage(describeCommand(program), version));
        return exitCodes.fine;
      }),
    );
}

function collect(value: string, former: string[] = []): string[] {
  return [...former, value];
}

function addTurnOptions(command: Command): Command {
  return command
    .option("-s, --session <id>", "continue this session (an id, its end, or `last`)")
    .option("-c, --continue", "continue the newest session of this repository")
    .option("-n, --new", "start a new session (the default)")
    .option("-f, --file <path>", "send this file; may be repeated", collect)
    .option("--no-modified", "do not send the files that git reports as modified")
    .option("-m, --mode <mode>", "mode of the answer: ask, edit, or one of the configuration")
    .option("--model <model>", "model to use")
    .option("--context <id>", "conversation context of the configuration")
    .option("--repo <name>", "repository to search; default: the one of this folder", repositoryName)
    .option(
      "--add-dir <folder>",
      "begin a session that is also about the repository of this folder; may be repeated",
      collect,
    )
    .option(
      "--add-repo <name>",
      "the same for a repository without a folder here, by its name; may be repeated",
      (name: string, former?: string[]) => collect(repositoryName(name), former),
    )
    .option("--lang <language>", "prefer code of this language");
}

function addTurnCommands(program: Command, run: RunCommand): void {
  addTurnOptions(program.command("ask"))
    .description("send one instruction; the answer streams to standard output")
    .argument("[instruction...]", "the instruction; - waits for standard input")
    .option("--fork <from>", "start a new session below this turn, or below the head of this session")
    .option("--rerun <turn>", "run this turn again, beside the old one")
    .addOption(
      new Option("--max-steps <n>", "at most so many model calls").argParser(
        wholeNumber(1, limits.stepsPerTurnSettingMax),
      ),
    )
    .addOption(
      new Option("--max-output <tokens>", "at most so many tokens in each answer of the model").argParser(
        wholeNumber(1, limits.outputTokensSettingMax),
      ),
    )
    .option("-w, --workspace <id>", "workspace of a new session (an id, a part of one, or `default`)")
    .option("--queue", "if a turn is running: wait for it")
    .option("--interrupt", "if a turn is running: stop it first")
    .option("--steer", "if a turn is running: send it this, and wait for its answer")
    .option("--attach <file>", "attach this file, or the page at this address; may be repeated", collect)
    .option("--inline", "put attachments into the model's context; default: the model reads them with a tool")
    .option("--events", "print every event as a line of JSON")
    .option("--dry-run", "show what would be sent and what it would cost, and send nothing")
    .action((words: string[], options: AskOptions) =>
      run(async (call) => (await import("../commands/ask.ts")).ask(call, words, options), createsFolder),
    );
  addTurnOptions(program.command("chat"))
    .description("chat line by line; /help lists its commands")
    .argument("[instruction...]", "the first instruction")
    .option("-r, --resume", "choose the session to continue from a list")
    .option("-w, --workspace <id>", "workspace of the chat (an id, a part of one, or `default`)")
    .option("--no-tools", "offer the model no access to files and commands of this machine")
    .action((words: string[], options: ChatOptions) =>
      run(async (call) => (await import("../chat/chat.ts")).chat(call, words, options), createsFolder),
    );
}

function addWorkCommands(program: Command, run: RunCommand): void {
  program
    .command("init")
    .description("write a first AGENTS.md, the rules of the repository for agents")
    .action(() => run(async (call) => (await import("../working-copy/starter-rules.ts")).init(call)));
  program
    .command("index")
    .description("index a repository, so that turns can search its code")
    .argument("[path]", "a folder of the repository; default: this one")
    .option("--rebuild", "delete the index and build it again")
    .option("--repo <name>", "name to index it under", repositoryName)
    .option("--commit [name]", "index a commit instead of the files as they are; default: HEAD")
    .option("--org <id>", "the org that the index is for (an id or a name); default: the org of this data folder")
    .addOption(
      new Option("--status", "show what is being indexed, and how the last runs ended").conflicts([
        "rebuild",
        "commit",
      ]),
    )
    .action((path: string | undefined, { status, ...options }: IndexOptions & { status?: boolean }) =>
      run(
        async (call) => {
          if (status === true) return (await import("../indexing/show-runs.ts")).showIndexRuns(call);
          return (await import("../commands/index-repository.ts")).indexCommand(call, path, options);
        },
        { createsFolder: status !== true },
      ),
    );
  program
    .command("search")
    .description("find sessions that contain all of the words")
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
    .description("list the configured servers and where each is configured; connects to none")
    .option("--workspace <id>", "the workspace whose configuration is used; default: default")
    .action((options: McpOptions) => run(async (call) => (await commands()).listMcpServers(call, options)));
  mcp
    .command("test")
    .description("start each server, or connect to it, and show what it offers")
    .argument("[name]", "only this one")
    .option("--workspace <id>", "the workspace whose configuration is used; default: default")
    .action((name: string | undefined, options: McpOptions) =>
      run(async (call) => (await commands()).testMcpServers(call, name, options), createsFolder),
    );
  mcp
    .command("serve")
    .description("offer the sessions to another agent, over standard input and output (Model Context Protocol)")
    .action(() => run(async (call) => (await commands()).serveSessions(call), createsFolder));
}

function addConfigCommands(config: Command, run: RunCommand): void {
  const commands = () => import("../commands/config.ts");
  config
    .command("init")
    .description("write a config.toml that explains every key")
    .option("--force", "overwrite an existing file")
    .action((options: { force?: boolean }) =>
      run(async (call) => (await commands()).initConfig(call, options), createsFolder),
    );
  config
    .command("show")
    .description("show the effective values with secrets masked, and where each is set")
    .option("--workspace <id>", "the workspace whose configuration is used")
    .action((options: ConfigOptions) => run(async (call) => (await commands()).showConfig(call, options)));
  config
    .command("check")
    .description("check the configuration, and that of every workspace")
    .option("--workspace <id>", "check this workspace only")
    .action((options: ConfigOptions) => run(async (call) => (await commands()).checkConfig(call, options)));
}

function addKeyCommands(program: Command, run: RunCommand): void {
  const keys = () => import("../keys/provider-key.ts");
  program
    .command("login")
    .description("ask for the key of a provider, and store it in config.toml of this machine")
    .argument("[provider]", "openai, anthropic, google, or a compatible server; default: the one that lacks its key")
    .action((provider: string | undefined) => run(async (call) => (await keys()).login(call, provider), createsFolder));
  program
    .command("logout")
    .description("remove stored keys of providers")
    .argument("[provider]", "only this one")
    .action((provider: string | undefined) => run(async (call) => (await keys()).logout(call, provider)));
}

function addServerCommands(program: Command, run: RunCommand): void {
  const at = (command: Command): Command =>
    command
      .option("--host <address>", "address to listen on")
      .addOption(new Option("--port <n>", "port to listen on; 0 takes a free one").argParser(wholeNumber(0, 65_535)));
  at(program.command("serve"))
    .description("serve this machine's data over HTTP until Ctrl-C")
    .action((options: ServeOptions) =>
      run(async (call) => (await import("../commands/serve.ts")).serve(call, options), createsFolder),
    );
  at(program.command("start"))
    .description("index this repository, create a first key, serve, and open the page (npm start)")
    .option("--no-open", "open no browser")
    .option("--phone", "listen on every address of this machine, and show a code for a phone's camera")
    .action((options: ServeOptions) =>
      run(async (call) => (await import("../commands/serve.ts")).start(call, options), createsFolder),
    );
  program
    .command("page")
    .description("print an address that signs a browser in to the page of the running server")
    .option("--no-open", "open no browser")
    .action((options: { open: boolean }) =>
      run(async (call) => (await import("../page/print-address.ts")).printPageAddress(call, options)),
    );
  program
    .command("acp")
    .description("run as the agent of an editor, over standard input and output (Agent Client Protocol)")
    .addOption(new Option("--fresh", "begin every new session empty").conflicts("continue"))
    .option("--continue", "continue the workspace's last session in every new one")
    .option("--workspace <id>", "workspace of new sessions; default: default")
    .option("-m, --mode <mode>", "mode of new sessions: ask, edit (the default), or one of the configuration")
    .option("--login", "ask for the key of a provider, store it and end; editors call this")
    .action((options: AcpOptions) =>
      run(async (call) => (await import("../commands/acp.ts")).acp(call, options), createsFolder),
    );
}

function addMaintenanceCommands(program: Command, run: RunCommand): void {
  program
    .command("gc")
    .description("delete stored files that no turn needs")
    .option("--dry-run", "list them and delete nothing")
    .option("--even-most", "delete them also if they are most of what is stored")
    .action((options: { dryRun?: boolean; evenMost?: boolean }) =>
      run(async (call) => (await import("../commands/session-lifecycle.ts")).collectGarbage(call, options)),
    );
  program
    .command("backup")
    .description("copy all sessions and workspaces of this machine, also while they are in use")
    .argument("<folder>", "a folder that does not exist yet")
    .action((folder: string) => run(async (call) => (await import("../commands/backup.ts")).backup(call, folder)));
  program
    .command("restore")
    .description("restore a backup into a data folder without sessions")
    .argument("<folder>", "the folder that aptove backup wrote")
    .action((folder: string) =>
      run(async (call) => (await import("../commands/backup.ts")).restore(call, folder), createsFolder),
    );
  program
    .command("move-blobs")
    .description("move the contents of conversations into the database, or back into files")
    .addArgument(new Argument("<place>", "where they should be").choices(["database", "files"]))
    .action((place: "database" | "files") =>
      run(async (call) => (await import("../commands/backup.ts")).moveBlobsTo(call, place)),
    );
  program
    .command("doctor")
    .description("check what works here, and how to fix what does not")
    .argument("[id...]", "with --attach: the sessions to attach, by their ids or the beginnings of their ids")
    .option("--attach", "list sessions that no list shows here, and attach those that certainly belong to this folder")
    .option("--deep", "also read every stored turn, and check it")
    .option("-y, --yes", "do not ask")
    .action((ids: string[], { attach, ...options }: { attach?: boolean; yes?: boolean; deep?: boolean }) =>
      run(async (call) => {
        if (attach !== true) return (await import("../commands/doctor.ts")).doctor(call, ids, options);
        return (await import("../commands/attach.ts")).attachSessions(call, ids, options);
      }),
    );
}
