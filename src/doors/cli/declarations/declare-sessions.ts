/** Declares the commands about sessions, with their options and their help (L1). */
import { Option, type Command } from "commander";
import type { ConfirmOptions } from "../confirm.ts";
import type { FireOptions, MailboxOptions } from "../commands/mailbox.ts";
import type { SharingOptions } from "../commands/sharing.ts";
import type { ListOptions, LogOptions, ShowOptions } from "../commands/sessions.ts";
import type { ExportOptions } from "../commands/export-and-import.ts";
import { wholeNumber, type RunCommand } from "./declaring.ts";

const theSession = "the session (an id, its end, or `last`)";
const someSession = "the session; without it: the newest of this repository";
const theTurn = "the turn (an id, its end, `<session>:<number>`, or `last`)";

export function addSessionCommands(session: Command, run: RunCommand): void {
  addReadingCommands(session, run);
  addBranchCommands(session, run);
  addComparingCommands(session, run);
  addControlCommands(session, run);
  addMailboxCommands(session, run);
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
    .description("sessions, newest activity first")
    .addOption(limit().default(20))
    .option("--repo <name>", "only those about this repository")
    .option("--archived", "only archived ones")
    .option("--removed", "only deleted ones that can still be restored")
    .action((options: ListOptions) => run(async (call) => (await commands()).printSessionList(call, options)));
  session
    .command("show")
    .description("what a turn retrieved, sent and skipped, and why")
    .argument("[id]", someSession)
    .addOption(new Option("--turn <n>", "the turn; without it: the newest").argParser(wholeNumber(1, 1e9)))
    .option("--request", "print the exact request that was sent to the model")
    .option("--response", "print the exact response")
    .addOption(new Option("--step <n>", "of which model call of the turn").argParser(wholeNumber(1, 1e6)).default(1))
    .action((id: string | undefined, options: ShowOptions) =>
      run(async (call) => (await commands()).showSession(call, id, options)),
    );
  session
    .command("log")
    .description("the turns of a session, a line each")
    .argument("[id]", someSession)
    .addOption(limit().default(50))
    .option("--graph", "draw the tree, with what it was forked from and its forks")
    .action((id: string | undefined, options: LogOptions) =>
      run(async (call) => (await commands()).logSession(call, id, options)),
    );
}

function addBranchCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/branch.ts");
  session
    .command("fork")
    .description("begin another session below a turn")
    .argument("<from>", "a session, whose head is meant, or a turn (`<session>:<number>`)")
    .argument("[instruction...]", "its first instruction; without one the session is empty")
    .addOption(new Option("--at <n>", "the turn of this number of the session").argParser(wholeNumber(1, 1e9)))
    .action((from: string, words: string[], options: { at?: number }) =>
      run(async (call) => (await commands()).forkSession(call, { from, ...options }, words)),
    );
  session
    .command("rerun")
    .description("run a turn again, beside the old one")
    .argument("<turn>", theTurn)
    .argument("[instruction...]", "another instruction; without one the same again")
    .action((turn: string, words: string[]) => run(async (call) => (await commands()).rerunTurn(call, turn, words)));
  session
    .command("head")
    .description("move the head, which the next instruction continues from")
    .argument("<id>", theSession)
    .argument("<turn>", "a turn of it: its number, or its id")
    .action((id: string, turn: string) => run(async (call) => (await commands()).moveHead(call, id, turn)));
}

function addComparingCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/diff-and-verify.ts");
  session
    .command("diff")
    .description("what the model saw differently in two turns, and what it answered")
    .argument("<a>", theTurn)
    .argument("<b>", theTurn)
    .option("-y, --side-by-side", "set both texts beside each other")
    .action((a: string, b: string, options: { sideBySide?: boolean }) =>
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
    .description("stop the running turn and its subagents, and keep what they said")
    .argument("[id]", someSession)
    .action((id: string | undefined) => run(async (call) => (await commands()).interruptSession(call, id)));
  session
    .command("steer")
    .description("tell the running turn something, which the model gets at its next step")
    .argument("<text...>", "what it is told")
    .option("-s, --session <id>", someSession)
    .action((words: string[], options: { session?: string }) =>
      run(async (call) => (await commands()).steerSession(call, words, options)),
    );
}

function addMailboxCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/mailbox.ts");
  session
    .command("mailbox")
    .description("what subagents left for the session's agent")
    .argument("[id]", someSession)
    .option("--all", "also what was delivered already")
    .action((id: string | undefined, options: MailboxOptions) =>
      run(async (call) => (await commands()).showMailbox(call, id, options)),
    );
  session
    .command("fire")
    .description("run a turn that takes all messages of the mailbox")
    .argument("<id>", theSession)
    .argument("[instruction...]", "what else it shall do")
    .option("--context <id>", "another conversation context for it")
    .option("--queue", "when a turn is running: wait for it")
    .option("--interrupt", "when a turn is running: stop it first")
    .action((id: string, words: string[], options: FireOptions) =>
      run(async (call) => (await commands()).fireMailbox(call, id, { words, options })),
    );
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
    .description("put a session away: readable, but it takes no turns")
    .argument("<id>", theSession)
    .action((id: string) => run(async (call) => (await commands()).archiveSession(call, id)));
  session
    .command("unarchive")
    .description("let an archived session take turns again")
    .argument("<id>", theSession)
    .action((id: string) => run(async (call) => (await commands()).unarchiveSession(call, id)));
  session
    .command("delete")
    .description("take a session out of all lists; restore brings it back")
    .argument("<id>", theSession)
    .option("-y, --yes", "do not ask")
    .action((id: string, options: ConfirmOptions) =>
      run(async (call) => (await commands()).deleteSession(call, id, options)),
    );
  session
    .command("restore")
    .description("bring a deleted session back")
    .argument("<id>", "one of session list --removed")
    .action((id: string) => run(async (call) => (await commands()).restoreSession(call, id)));
  session
    .command("purge")
    .description("delete a deleted session for ever, but for what forks rest on")
    .argument("<id>", "one of session list --removed")
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
    .description("let all of the org read and fork a session, or some of its people continue it")
    .argument("<id>", theSession)
    .option("--with <user>", "let this one read and continue it; may be repeated", collect)
    .action((id: string, options: SharingOptions) =>
      run(async (call) => (await commands()).shareSession(call, id, options)),
    );
  session
    .command("unshare")
    .description("make a session private again, or take some people out of it")
    .argument("<id>", theSession)
    .option("--with <user>", "only this one may not any more; may be repeated", collect)
    .action((id: string, options: SharingOptions) =>
      run(async (call) => (await commands()).unshareSession(call, id, options)),
    );
}

function addTransferCommands(session: Command, run: RunCommand): void {
  const commands = () => import("../commands/export-and-import.ts");
  session
    .command("export")
    .description("write a session to a file that any aptove reads")
    .argument("[id]", someSession)
    .option("--markdown", "for reading instead")
    .option("-o, --output <file>", "the file; without it: standard output")
    .addOption(new Option("--turn <n>", "only the branch that ends at this turn").argParser(wholeNumber(1, 1e9)))
    .action((id: string | undefined, options: ExportOptions) =>
      run(async (call) => (await commands()).exportSession(call, id, options)),
    );
  session
    .command("import")
    .description("take over what export wrote; twice changes nothing")
    .argument("<file>", "the file, or - for standard input")
    .action((file: string) => run(async (call) => (await commands()).importSessions(call, file)));
}
