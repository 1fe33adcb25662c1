/** Declares the commands about sessions, with their options and their help (L1). */
import { Option, type Command } from "commander";
import type { ConfirmOptions } from "../confirm.ts";
import type { PinOptions, PlaceOptions } from "../pins/pins.ts";
import { pinnableParts } from "../../../domain/pin.ts";
import type { FireOptions, MailboxOptions } from "../commands/mailbox.ts";
import type { SharingOptions } from "../commands/sharing.ts";
import type { ListOptions, LogOptions, ShowOptions } from "../commands/sessions.ts";
import type { SummarizeOptions } from "../summaries/summarize-session.ts";
import { foreignTools } from "../../../domain/foreign.ts";
import type { ForeignImportOptions } from "../foreign/import-foreign.ts";
import { UsageError } from "../failure.ts";
import type { ExportOptions } from "../commands/export-and-import.ts";
import { createsFolder, repositoryName, wholeNumber, type RunCommand } from "./declaring.ts";

const theSession = "the session (an id, its end, or `last`)";
const someSession = "the session; default: the newest of this repository";
const theTurn = "the turn (an id, its end, `<session>:<number>`, or `last`)";

export function addSessionCommands(session: Command, run: RunCommand): void {
  addReadingCommands(session, run);
  addBranchCommands(session, run);
  addComparingCommands(session, run);
  addControlCommands(session, run);
  addMailboxCommands(session, run);
  addPinCommands(session, run);
  addNameCommands(session, run);
  addKeepingCommands(session, run);
  addTransferCommands(session, run);
}

function limit(): Option {
  return new Option("--limit <n>", "how many").argParser(wholeNumber(1, 1_000));
}

function addReadingCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/sessions.ts");
  session
    .command("list")
    .description("list sessions, newest activity first")
    .addOption(limit().default(20))
    .option("--repo <name>", "only those about this repository", repositoryName)
    .option("--label <label>", "only those with this label")
    .option("--metadata <key[=value]>", "only those whose metadata has this key, or this value for it")
    .option("--workspace <id>", "only those of this workspace")
    .addOption(
      new Option("--status <status>", "only those whose newest turn has this status").choices([
        "pending",
        "completed",
        "awaiting_tool_results",
        "failed",
      ]),
    )
    .option("--since <date>", "only those that were used since then")
    .option("--archived", "only archived ones")
    .option("--removed", "only deleted ones that can still be restored")
    .action((options: ListOptions) => run(async (call) => (await commands()).printSessionList(call, options)));
  session
    .command("show")
    .description("show what a turn retrieved, sent and skipped, and why")
    .argument("[id]", `${someSession}; or a turn (\`<session>:<number>\`)`)
    .addOption(new Option("--turn <n>", "the number of the turn; default: the newest").argParser(wholeNumber(1, 1e9)))
    .option("--answer", "print the text of the answer, also what a failed turn has of it")
    .option("--request", "print the exact request that was sent to the model")
    .option("--response", "print the exact response")
    .option("--size", "show the room that the session and its turns take; with --turn, only that turn")
    .option("--all", "with --size: of all sessions")
    .addOption(
      new Option("--step <n>", "the number of the model call in the turn").argParser(wholeNumber(1, 1e6)).default(1),
    )
    .action((id: string | undefined, options: ShowOptions) =>
      run(async (call) => (await commands()).showSession(call, id, options)),
    );
  addSummaryCommands(session, run);
  session
    .command("log")
    .description("list the turns of a session, one line each")
    .argument("[id]", someSession)
    .addOption(limit().default(50))
    .option("--graph", "draw the tree, with its origin and its forks")
    .action((id: string | undefined, options: LogOptions) =>
      run(async (call) => (await commands()).logSession(call, id, options)),
    );
}

function addSummaryCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../summaries/summarize-session.ts");
  session
    .command("summarize")
    .description("summarize a session: goal, decisions, files, open points, each with the turns that it rests on")
    .argument("[id]", someSession)
    .addOption(new Option("--turn <n>", "only the branch that ends at this turn").argParser(wholeNumber(1, 1e9)))
    .option("--model <model>", "the model that writes it; default: that of the session")
    .option("--fresh", "do not begin with an earlier summary")
    .action((id: string | undefined, options: SummarizeOptions) =>
      run(async (call) => (await commands()).summarizeSession(call, id, options)),
    );
  session
    .command("summaries")
    .description("list the summaries of a session, with their costs")
    .argument("[id]", someSession)
    .action((id: string | undefined) => run(async (call) => (await commands()).listSummaries(call, id)));
}

function addBranchCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/branch.ts");
  session
    .command("fork")
    .description("start another session below a turn")
    .argument("<from>", "a session (its head is used) or a turn (`<session>:<number>`)")
    .argument("[instruction...]", "its first instruction; default: the session is empty")
    .addOption(new Option("--at <n>", "the turn with this number in the session").argParser(wholeNumber(1, 1e9)))
    .action((from: string, words: string[], options: { at?: number }) =>
      run(async (call) => (await commands()).forkSession(call, { from, ...options }, words)),
    );
  session
    .command("rerun")
    .description("run a turn again, beside the old one")
    .argument("<turn>", theTurn)
    .argument("[instruction...]", "another instruction; default: the same one")
    .action((turn: string, words: string[]) => run(async (call) => (await commands()).rerunTurn(call, turn, words)));
  session
    .command("head")
    .description("move the head, from which the next instruction continues")
    .argument("<id>", theSession)
    .argument("<turn>", "the turn (its number or its id)")
    .action((id: string, turn: string) => run(async (call) => (await commands()).moveHead(call, id, turn)));
}

function addComparingCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/diff-and-verify.ts");
  session
    .command("diff")
    .description("compare what the model saw and answered in two turns")
    .argument("[a]", `${theTurn}; default: \`last\``)
    .argument("[b]", "another one; default: the turn that the first repeats, or else continues")
    .option("-y, --side-by-side", "show the texts side by side")
    .action((a: string | undefined, b: string | undefined, options: { sideBySide?: boolean }) =>
      run(async (call) => (await commands()).compareTurns(call, { a, b }, options)),
    );
  session
    .command("verify")
    .description("recompute the digests of a session's turns")
    .argument("[id]", someSession)
    .action((id: string | undefined) => run(async (call) => (await commands()).checkSessionSeals(call, id)));
}

function addControlCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/interrupt-and-steer.ts");
  session
    .command("interrupt")
    .description("stop the running turn and its subagents; their output so far is kept")
    .argument("[id]", someSession)
    .action((id: string | undefined) => run(async (call) => (await commands()).interruptSession(call, id)));
  session
    .command("steer")
    .description("send the running turn a message, which the model gets at its next step")
    .argument("<text...>", "the message")
    .option("-s, --session <id>", someSession)
    .action((words: string[], options: { session?: string }) =>
      run(async (call) => (await commands()).steerSession(call, words, options)),
    );
}

function addMailboxCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/mailbox.ts");
  session
    .command("mailbox")
    .description("list the messages of subagents for the session's agent")
    .argument("[id]", someSession)
    .option("--all", "also list delivered messages")
    .action((id: string | undefined, options: MailboxOptions) =>
      run(async (call) => (await commands()).showMailbox(call, id, options)),
    );
  session
    .command("fire")
    .description("run a turn with all messages of the mailbox")
    .argument("<id>", theSession)
    .argument("[instruction...]", "an instruction for the turn")
    .option("--context <id>", "use this conversation context")
    .option("--queue", "if a turn is running: wait for it")
    .option("--interrupt", "if a turn is running: stop it first")
    .action((id: string, words: string[], options: FireOptions) =>
      run(async (call) => (await commands()).fireMailbox(call, id, { words, options })),
    );
}

function addPinCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../pins/pins.ts");
  const ofSession = "the session in whose history the turn is; default: the session of the turn";
  session
    .command("pin")
    .description("pin a turn, or a passage of it: the model keeps it word for word when the history is summarised")
    .argument("<turn>", theTurn)
    .argument("[text...]", "the passage, word for word; default: all of it")
    .addOption(new Option("--of <part>", "what the passage is a part of").choices(pinnableParts))
    .option("-s, --session <id>", ofSession)
    .action((turn: string, words: string[], options: PinOptions) =>
      run(async (call) => (await commands()).pinTurn(call, { turn, words }, options)),
    );
  session
    .command("unpin")
    .description("remove a pin; the next summary of the history may drop what it kept")
    .argument("<pin>", "the pin (its id, or its end)")
    .option("-s, --session <id>", someSession)
    .action((pin: string, options: PinOptions) => run(async (call) => (await commands()).unpin(call, pin, options)));
  session
    .command("pins")
    .description("list what is pinned in a session")
    .argument("[id]", someSession)
    .action((id: string | undefined) => run(async (call) => (await commands()).listPins(call, id)));
}

function addNameCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../pins/turn-names.ts");
  session
    .command("name")
    .description("give a turn a name, by which it is found again in the tree; without a name, take it away")
    .argument("<turn>", theTurn)
    .argument("[name...]", "the name; default: none")
    .option("-s, --session <id>", "the session in which it has the name; default: the session of the turn")
    .action((turn: string, words: string[], options: PlaceOptions) =>
      run(async (call) => (await commands()).nameTurn(call, { turn, words }, options)),
    );
  session
    .command("names")
    .description("list the names that turns have in a session")
    .argument("[id]", someSession)
    .action((id: string | undefined) => run(async (call) => (await commands()).listNames(call, id)));
}

function addKeepingCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/session-lifecycle.ts");
  session
    .command("rename")
    .description("give a session a name")
    .argument("<id>", theSession)
    .argument("<name>", "its name")
    .action((id: string, name: string) => run(async (call) => (await commands()).renameSession(call, id, name)));
  addSharingCommands(session, run);
  session
    .command("archive")
    .description("archive a session: it stays readable and accepts no turns")
    .argument("<id>", theSession)
    .action((id: string) => run(async (call) => (await commands()).archiveSession(call, id)));
  session
    .command("unarchive")
    .description("let an archived session accept turns again")
    .argument("<id>", theSession)
    .action((id: string) => run(async (call) => (await commands()).unarchiveSession(call, id)));
  session
    .command("delete")
    .description("remove a session from all lists; restore undoes this")
    .argument("<id>", theSession)
    .option("-y, --yes", "do not ask")
    .action((id: string, options: ConfirmOptions) =>
      run(async (call) => (await commands()).deleteSession(call, id, options)),
    );
  session
    .command("restore")
    .description("restore a deleted session")
    .argument("<id>", "a session of: session list --removed")
    .action((id: string) => run(async (call) => (await commands()).restoreSession(call, id)));
  session
    .command("purge")
    .description("delete a deleted session permanently, except what forks depend on")
    .argument("<id>", "a session of: session list --removed")
    .option("-y, --yes", "do not ask")
    .action((id: string, options: ConfirmOptions) =>
      run(async (call) => (await commands()).purgeRemovedSession(call, id, options)),
    );
}

function addSharingCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/sharing.ts");
  const collect = (value: string, former: string[] = []): string[] => [...former, value];
  session
    .command("share")
    .description("let the whole org read and fork a session, or some of its users continue it")
    .argument("<id>", theSession)
    .option("--with <user>", "let this user read and continue it; may be repeated", collect)
    .action((id: string, options: SharingOptions) =>
      run(async (call) => (await commands()).shareSession(call, id, options)),
    );
  session
    .command("unshare")
    .description("make a session private again, or remove some users from it")
    .argument("<id>", theSession)
    .option("--with <user>", "remove only this user; may be repeated", collect)
    .action((id: string, options: SharingOptions) =>
      run(async (call) => (await commands()).unshareSession(call, id, options)),
    );
}

/** Refuses them: a file would be imported although only a preview of it was wanted. */
function refuseForeignOptions(options: Partial<ForeignImportOptions>): void {
  const [name] = Object.keys(options);
  if (name === undefined) return;
  const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new UsageError(
    `${option} is only for conversations of another tool`,
    "name the tool with --from, or leave it out",
  );
}

function addTransferCommands(session: Command, run: RunCommand): void {
  const foreign = () => import("../foreign/import-foreign.ts");
  const commands = () => import("../commands/export-and-import.ts");
  session
    .command("export")
    .description("write a session to a file that any aptove reads")
    .argument("[id]", someSession)
    .option("--markdown", "write Markdown for reading instead")
    .option("-o, --output <file>", "the file; default: standard output")
    .addOption(new Option("--turn <n>", "only the branch that ends at this turn").argParser(wholeNumber(1, 1e9)))
    .action((id: string | undefined, options: ExportOptions) =>
      run(async (call) => (await commands()).exportSession(call, id, options)),
    );
  session
    .command("import")
    .description("import a file that export wrote, or conversations of another tool; a second import changes nothing")
    .argument("[file]", "the file, or - for standard input; with --from, a history or a folder of them")
    .addOption(new Option("--from <tool>", "take over conversations of this tool").choices(foreignTools))
    .option("--all", "with --from: all conversations, not only the newest one of this folder")
    .option("--dry-run", "with --from: only show what would come and what cannot be taken over")
    .option("--yes", "with --from: do not ask")
    .action((file: string | undefined, options: Partial<ForeignImportOptions>) =>
      run(async (call) => {
        const { from } = options;
        if (from !== undefined) return (await foreign()).importForeign(call, file, { ...options, from });
        refuseForeignOptions(options);
        return (await commands()).importSessions(call, file);
      }, createsFolder),
    );
}
