/**
 * The command line's door: parses the arguments, runs one command, and turns its result into an exit code (L1). It
 * decides nothing about sessions: that is the engine's task, reached through the typed client.
 */
import { distance } from "fastest-levenshtein";
import { CommanderError, type Command } from "commander";
import { CliInvocation, type GlobalOptions } from "./invocation.ts";
import { exitCodes, reportFailure, UsageError, type ExitCode } from "./failure.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import { CliOutput } from "./output.ts";
import type { CliIo, CliPorts } from "./ports.ts";
import { buildProgram } from "./declarations/declare-program.ts";
import { withHelpOption } from "./declarations/help-words.ts";
import { commandsThatEndIn } from "./declarations/similar-commands.ts";
import { StoppedAtOnce } from "./stop-signals.ts";

export type { CliIo, CliPorts, LocalEngine, LocalSetup } from "./ports.ts";

/**
 * Runs the command in `argv`, which does not contain the program's own name. Resolves when all output is written and
 * everything is closed. Never rejects.
 */
export async function runCli(argv: readonly string[], io: CliIo, ports: CliPorts): Promise<ExitCode> {
  const output = new CliOutput(io, { color: !argv.includes("--no-color") });
  let exit: ExitCode = exitCodes.fine;
  const program = buildProgram(ports.version, async (body, use) => {
    const options: GlobalOptions = program.opts();
    const call = new CliInvocation({ io, ports, output, options, ...use });
    exit = await runBody(call, body);
  });
  let refusal = "";
  configure(program, {
    name: program.name(),
    write: (text) => output.write(text),
    refuse: (text) => (refusal += text),
  });
  try {
    await program.parseAsync(withHelpOption(program, argv), { from: "user" });
  } catch (error) {
    const target = { output, json: argv.includes("--json"), debug: isDebugged(io) };
    exit = endOfParsing(error, { words: refusal, program }, target);
  }
  const unwritten = await output.flush();
  if (unwritten === null) return exit;
  const fault = storageFault("the output of the command could not be written", unwritten);
  // JSON would go to the same output.
  return reportFailure(fault, output, { json: false, debug: isDebugged(io) });
}

/**
 * Redirects the texts of commander for a command and those below it, so that what commander refuses is reported like
 * every failure.
 */
function configure(
  command: Command,
  to: { name: string; write(text: string): void; refuse(text: string): void },
): void {
  command
    .exitOverride()
    .showHelpAfterError(`fix: see ${to.name} --help`)
    .configureOutput({ writeOut: to.write, writeErr: to.refuse });
  if (command.commands.length > 0) command.helpCommand("help [command]", "print the help of a command");
  for (const child of command.commands) configure(child, { ...to, name: `${to.name} ${child.name()}` });
}

interface ReportTarget {
  output: CliOutput;
  json: boolean;
  debug: boolean;
}

interface Refusal {
  /** What commander wrote: `error: …`, perhaps a suggestion, and a line that names the help. */
  words: string;
  program: Command;
}

/** Reports why parsing ended. */
function endOfParsing(error: unknown, refusal: Refusal, target: ReportTarget): ExitCode {
  if (!(error instanceof CommanderError)) return reportFailure(error, target.output, target);
  // Help and version end in the same way as a wrong option. Only the exit code tells them apart.
  if (error.exitCode === 0) return exitCodes.fine;
  if (error.code !== "commander.help") {
    return reportFailure(wrongUse(refusal), target.output, target);
  }
  // A group of commands was named without one of its commands. Then commander wrote the help.
  if (target.json) return reportFailure(new UsageError("no command was given", "see --help"), target.output, target);
  target.output.note(refusal.words.trimEnd());
  return exitCodes.wrongUse;
}

/** Describes what commander refused. The fix names the command or the option that was probably meant. */
function wrongUse({ words, program }: Refusal): UsageError {
  const [text = "", help = "see aptove --help"] = words.trim().split("\nfix: ");
  const [message = "", suggestion] = text.replace(/^error: /, "").split(/\n\(Did you mean (.*)\?\)$/s);
  const unknown = /^unknown command '(.*)'$/s.exec(message)?.[1];
  const meant = unknown === undefined ? [] : commandsThatEndIn(program, unknown);
  const group = /^see (.*) --help$/.exec(help)?.[1] ?? "";
  if (meant.length === 0 && suggestion !== undefined)
    meant.push(...nearWords(message, suggestion).map((word) => (unknown === undefined ? word : `${group} ${word}`)));
  return new UsageError(
    inPlainWords(message),
    meant.length === 0 ? help : `did you mean ${meant.join(" or ")}? Or ${help}`,
  );
}

/** Commander calls an argument of a command and one of an option by names of its own. */
function inPlainWords(message: string): string {
  return message
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*?)'\./s, "<$2> cannot be '$1'.")
    .replace(/^option '(.*?)' argument '(.*)' is invalid\./s, "$1 cannot be '$2'.");
}

/** A word may differ from what was typed in this many letters. */
const typoLettersMax = 2;

/** Returns those words of commander's suggestion that are near. It also suggests the least far one of all commands. */
function nearWords(message: string, suggestion: string): string[] {
  const typed = /^unknown (?:command|option) '(.*)'$/s.exec(message)?.[1] ?? "";
  const words = suggestion.replace(/^one of /, "").split(", ");
  return words.filter((word) => distance(word, typed) <= typoLettersMax);
}

function isDebugged(io: CliIo): boolean {
  return (io.env["APTOVE_DEBUG"] ?? "") !== "";
}

async function runBody(
  invocation: CliInvocation,
  body: (invocation: CliInvocation) => Promise<ExitCode> | ExitCode,
): Promise<ExitCode> {
  const debug = isDebugged(invocation.io);
  let exit: ExitCode;
  try {
    exit = await body(invocation);
  } catch (error) {
    // A person who stops a second time does not want to wait for anything.
    if (error instanceof StoppedAtOnce) return exitCodes.interrupted;
    exit = reportFailure(error, invocation.output, { json: invocation.json, debug, server: invocation.server() });
  }
  try {
    await invocation.close();
  } catch (error) {
    return reportFailure(error, invocation.output, { json: invocation.json, debug });
  }
  return exit;
}
