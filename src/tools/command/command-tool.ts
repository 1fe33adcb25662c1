/** `run`: runs a command line in a shell, in the folders of one session (P5, P4). */
import { stripVTControlCharacters } from "node:util";
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../parameters.ts";
import { SessionFolders, type ExistingPath, type SessionFoldersOptions } from "../session-folders.ts";
import { visibleText } from "../shown-text.ts";
import type { ShellCommandResult, CommandRunner } from "../session-tools.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import { valueHider } from "./hide-values.ts";
import { localCommands, type LocalCommandsOptions } from "./local-commands.ts";

export interface CommandToolOptions extends SessionFoldersOptions {
  /** The runner of commands, such as the client's terminals. Absent: local processes. */
  commands?: CommandRunner;
  /** Options for local processes. With `commands`, only its secret values are used: they are hidden in every output (E8). */
  local?: LocalCommandsOptions;
  /** Ends running commands when it aborts, which is at the end of the session. */
  until?: AbortSignal;
}

const parameters = toolParameters(() => ({
  command: textArgument("Command line for the shell."),
  cwd: textArgument("Folder to run it in; the first one if absent.").optional(),
  timeout_ms: wholeArgument(`Time limit, ${limits.commandMs} if absent.`, {
    min: 1,
    max: limits.commandMsMax,
  }).optional(),
}));

const about =
  "Run a shell command and get its output and exit code. Standard input is empty, no person can answer questions, " +
  "and processes that it leaves in the background are ended with it.";

export function commandTool(options: CommandToolOptions): Tool {
  const folders = new SessionFolders(options);
  const commands = commandsOf(options);
  const until = options.until ?? new AbortController().signal;
  return describedTool({
    name: "run",
    about,
    effect: "run",
    parameters,
    // The command ends at its own time limit and returns its output so far. This limit of the engine is longer.
    timeMs: limits.commandMsMax + 4 * limits.commandGraceMs,
    view: async ({ command, cwd = "." }) => {
      const target = await folder(folders, cwd);
      const whole = visibleText(command);
      const line = firstWords(whole.trim());
      const isWhole = line === command.trim();
      const where = target.shown === "." ? "" : ` in ${target.shown}`;
      const title = `Run ${line}${line === whole.trim() ? "" : " …"}${where}`;
      return {
        title,
        kind: "execute",
        locations: [{ path: target.known }],
        // A client may cut a title. What is not plain and short is shown whole.
        content: isWhole ? [] : [{ type: "text", text: whole }],
        permission: { key: `run ${command} in ${JSON.stringify(target.real)}`, label: title.slice("Run ".length) },
      };
    },
    run: async ({ command, cwd = ".", timeout_ms: timeMs = limits.commandMs }, context) => {
      const target = await folder(folders, cwd);
      if (command.includes("\0")) throw new ToolFault("the command contains a NUL");
      const time = AbortSignal.timeout(timeMs);
      const signal = AbortSignal.any([context.signal, until, time]);
      const outcome = await commands.run(request({ command, target, signal }, context));
      const stopped = context.signal.aborted || until.aborted ? "interrupted" : null;
      const late = `ended: it ran longer than ${timeMs} ms; timeout_ms may be up to ${limits.commandMsMax}`;
      return resultOf(outcome, stopped ?? (time.aborted ? late : null));
    },
  });
}

/** Returns the runner. A client's terminal runs in an environment that is not ours and that may have the keys. */
function commandsOf({ commands, local }: CommandToolOptions): CommandRunner {
  if (commands === undefined) return localCommands(local);
  const hider = valueHider(local?.secretValues ?? []);
  return {
    run: async (command) => {
      const shown = hider.stream(command.onOutput);
      const result = await commands.run({ ...command, onOutput: shown.add }).finally(shown.end);
      return { ...result, output: hider.hide(result.output) };
    },
  };
}

const titleCharactersMax = 120;

/** Returns the beginning of a command for its title. */
function firstWords(command: string): string {
  const line = [...(command.split("\n", 1)[0] ?? "").replaceAll("\t", " ")];
  return line.length <= titleCharactersMax ? line.join("") : line.slice(0, titleCharactersMax).join("").trimEnd();
}

async function folder(folders: SessionFolders, cwd: string): Promise<ExistingPath> {
  const target = await folders.resolveExisting(cwd);
  if (target.kind !== "folder") throw new ToolFault(`${target.shown} is a file; cwd must be a folder`);
  return target;
}

interface RequestedCommand {
  command: string;
  target: ExistingPath;
  signal: AbortSignal;
}

function request({ command, target, signal }: RequestedCommand, { callId, showOutput }: ToolContext) {
  return {
    command,
    cwd: target.real,
    callId,
    outputBytesMax: limits.commandOutputBytesMax,
    signal,
    onOutput: showOutput,
  };
}

function resultOf({ output, isCut, exitCode, signal }: ShellCommandResult, stopped: string | null): ToolResult {
  // Colour codes cost tokens and mean nothing to the model.
  const text = stripVTControlCharacters(output).trimEnd();
  const beginning = isCut ? ["(the beginning of the output was dropped)"] : [];
  const end = stopped ?? endText(exitCode, signal);
  const lines = [...beginning, ...(text === "" ? [] : [text]), ...(end === null ? [] : [`(${end})`])];
  return { output: lines.length === 0 ? "(no output)" : lines.join("\n"), isError: exitCode !== 0 || stopped !== null };
}

function endText(exitCode: number | null, signal: string | null): string | null {
  if (exitCode === 0) return null;
  return exitCode === null ? `ended by ${signal ?? "a signal"}` : `exit code ${exitCode}`;
}
