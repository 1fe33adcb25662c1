/** `run`: a command line in a shell, in the folders of one session (P5, P4). */
import { stripVTControlCharacters } from "node:util";
import { limits } from "../../domain/limits.ts";
import { describedTool } from "../described-tool.ts";
import { textArgument, toolParameters, wholeArgument } from "../parameters.ts";
import { SessionFolders, type PresentPlace, type SessionFoldersOptions } from "../session-folders.ts";
import { shownPath } from "../shown-text.ts";
import type { CommandOutcome, CommandRunner } from "../session-tools.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { ToolFault } from "../tool-fault.ts";
import { localCommands, type LocalCommandsOptions } from "./local-commands.ts";

export interface CommandToolOptions extends SessionFoldersOptions {
  /** In place of processes of this machine. */
  commands?: CommandRunner;
  /** What such a process gets to see, where there is no `commands`. */
  local?: LocalCommandsOptions;
  /** Ends what runs when it aborts: the session is over. */
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
  "Run a shell command and get its output and exit code. Standard input is empty, nobody can answer questions, " +
  "and what it leaves running in the background is ended with it.";

export function commandTool(options: CommandToolOptions): Tool {
  const folders = new SessionFolders(options);
  const commands = options.commands ?? localCommands(options.local);
  const until = options.until ?? new AbortController().signal;
  return describedTool({
    name: "run",
    about,
    effect: "run",
    parameters,
    // The command ends by its own time limit, and says what it wrote until then.
    timeMs: limits.commandMsMax + 4 * limits.commandGraceMs,
    view: async ({ command, cwd = "." }) => {
      const place = await folder(folders, cwd);
      const line = command.trim().split("\n", 1)[0] ?? "";
      const isWhole = line === command.trim();
      const where = place.shown === "." ? "" : ` in ${place.shown}`;
      const title = `Run ${shownPath(line)}${isWhole ? "" : " …"}${where}`;
      return {
        title,
        kind: "execute",
        locations: [{ path: place.known }],
        content: isWhole ? [] : [{ type: "text", text: command }],
        permission: { key: `run ${command} in ${JSON.stringify(place.real)}`, label: title.slice("Run ".length) },
      };
    },
    run: async ({ command, cwd = ".", timeout_ms: timeMs = limits.commandMs }, context) => {
      const place = await folder(folders, cwd);
      if (command.includes("\0")) throw new ToolFault("the command contains a NUL");
      const time = AbortSignal.timeout(timeMs);
      const signal = AbortSignal.any([context.signal, until, time]);
      const outcome = await commands.run(request({ command, place, signal }, context));
      const stopped = context.signal.aborted || until.aborted ? "interrupted" : null;
      const late = `ended: it took longer than ${timeMs} ms; timeout_ms may be up to ${limits.commandMsMax}`;
      return resultOf(outcome, stopped ?? (time.aborted ? late : null));
    },
  });
}

async function folder(folders: SessionFolders, cwd: string): Promise<PresentPlace> {
  const place = await folders.existing(cwd);
  if (place.kind !== "folder") throw new ToolFault(`${place.shown} is a file; cwd must be a folder`);
  return place;
}

interface Asked {
  command: string;
  place: PresentPlace;
  signal: AbortSignal;
}

function request({ command, place, signal }: Asked, { callId, showOutput }: ToolContext) {
  return {
    command,
    cwd: place.real,
    callId,
    outputBytesMax: limits.commandOutputBytesMax,
    signal,
    onOutput: showOutput,
  };
}

function resultOf({ output, isCut, exitCode, signal }: CommandOutcome, stopped: string | null): ToolResult {
  // Colours are tokens without meaning.
  const said = stripVTControlCharacters(output).trimEnd();
  const beginning = isCut ? ["(the beginning of the output was dropped)"] : [];
  const end = stopped ?? endText(exitCode, signal);
  const lines = [...beginning, ...(said === "" ? [] : [said]), ...(end === null ? [] : [`(${end})`])];
  return { output: lines.length === 0 ? "(no output)" : lines.join("\n"), isError: exitCode !== 0 || stopped !== null };
}

function endText(exitCode: number | null, signal: string | null): string | null {
  if (exitCode === 0) return null;
  return exitCode === null ? `ended by ${signal ?? "a signal"}` : `exit code ${exitCode}`;
}
