/**
 * The command line's door: parses the arguments, runs one command, and turns its result into an exit code (L1). It
 * decides nothing about sessions: that is the engine's task, reached through the typed client.
 */
import { CommanderError, type Command } from "commander";
import { CliInvocation, type GlobalOptions } from "./invocation.ts";
import { exitCodes, reportFailure, UsageError, type ExitCode } from "./failure.ts";
import { CliOutput } from "./output.ts";
import type { CliIo, CliPorts } from "./ports.ts";
import { buildProgram } from "./declarations/declare-program.ts";
import { StoppedAtOnce } from "./stop-signals.ts";

export type { CliIo, CliPorts, LocalEngine, LocalSetup } from "./ports.ts";

/**
 * Runs the command in `argv`, which does not contain the program's own name. Resolves when all output is written and
 * everything is closed. Never rejects.
 */
export async function runCli(argv: readonly string[], io: CliIo, ports: CliPorts): Promise<ExitCode> {
  const output = new CliOutput(io, { color: !argv.includes("--no-color") });
  let exit: ExitCode = exitCodes.fine;
  const program = buildProgram(ports.version, async (body) => {
    const options: GlobalOptions = program.opts();
    const call = new CliInvocation({ io, ports, output, options });
    exit = await runBody(call, body);
  });
  let refusal = "";
  configure(program, {
    name: program.name(),
    write: (text) => output.write(text),
    refuse: (text) => (refusal += text),
  });
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    exit = endOfParsing(error, refusal, { output, json: argv.includes("--json"), debug: isDebugged(io) });
  }
  await output.flush();
  return exit;
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
  for (const child of command.commands) configure(child, { ...to, name: `${to.name} ${child.name()}` });
}

interface ReportTarget {
  output: CliOutput;
  json: boolean;
  debug: boolean;
}

/**
 * Reports why parsing ended. `words` is what commander wrote: `error: …`, perhaps a suggestion, and a line that names
 * the help.
 */
function endOfParsing(error: unknown, words: string, target: ReportTarget): ExitCode {
  if (!(error instanceof CommanderError)) return reportFailure(error, target.output, target);
  // Help and version end in the same way as a wrong option. Only the exit code tells them apart.
  if (error.exitCode === 0) return exitCodes.fine;
  if (error.code !== "commander.help") {
    const [message = "", fix = null] = words.trim().split("\nfix: ");
    return reportFailure(new UsageError(message.replace(/^error: /, ""), fix), target.output, target);
  }
  // A group of commands was named without one of its commands. Then commander wrote the help.
  if (target.json) return reportFailure(new UsageError("no command was given", "see --help"), target.output, target);
  target.output.noteRaw(words);
  return exitCodes.wrongUse;
}

function isDebugged(io: CliIo): boolean {
  return (io.env["APTOVE_DEBUG"] ?? "") !== "";
}

async function runBody(
  call: CliInvocation,
  body: (call: CliInvocation) => Promise<ExitCode> | ExitCode,
): Promise<ExitCode> {
  const debug = isDebugged(call.io);
  let exit: ExitCode;
  try {
    exit = await body(call);
  } catch (error) {
    // A person who stops a second time does not want to wait for anything.
    if (error instanceof StoppedAtOnce) return exitCodes.interrupted;
    exit = reportFailure(error, call.output, { json: call.json, debug, server: call.server() });
  }
  try {
    await call.close();
  } catch (error) {
    return reportFailure(error, call.output, { json: call.json, debug });
  }
  return exit;
}
