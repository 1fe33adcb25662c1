/** Runs commands in a terminal of the client, if it offers that (P4), so that the user sees the command run. */
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { ShellCommandResult, ShellCommandRequest, CommandRunner } from "../../../tools/session-tools.ts";
import { commandShell } from "../../../tools/shell.ts";
import type { AcpClient } from "./acp-client.ts";
import { checkedAnswer, readCommandEnd, type CommandEnd } from "./client-answers.ts";

export interface TerminalPorts {
  client: AcpClient;
  sessionId: string;
  /** Called when the terminal exists, so that the tool call can show it. */
  onTerminal(callId: string, terminalId: string): Promise<void>;
}

export function clientTerminal(ports: TerminalPorts): CommandRunner {
  return { run: (command) => runInTerminal(ports, command) };
}

async function runInTerminal(ports: TerminalPorts, command: ShellCommandRequest): Promise<ShellCommandResult> {
  const { client, sessionId } = ports;
  const terminalId = await create(ports, command);
  const named = { sessionId, terminalId };
  try {
    await ports.onTerminal(command.callId, terminalId);
    const waited = await untilExit(client, named, command.signal);
    const answer = await client.request("terminal/output", named, deadline());
    const { exitStatus, ...output } = checkedAnswer("terminal/output", answer);
    // A client may say how the command ended in one of the two answers only.
    return { ...shownOutput(output, command.outputBytesMax), ...(readCommandEnd(exitStatus) ?? waited ?? unknownEnd) };
  } catch (error) {
    throw clientFailed(error);
  } finally {
    // Its output stays visible. If the release fails, the terminal is gone already.
    await client.request("terminal/release", named, deadline()).catch(() => undefined);
  }
}

/** Creates the terminal. This is never aborted: a terminal whose id is lost could not be released. */
async function create({ client, sessionId }: TerminalPorts, request: ShellCommandRequest): Promise<string> {
  const { command, cwd, outputBytesMax } = request;
  const { program, args } = commandShell();
  const shell = { command: program, args: [...args, command] };
  const never = new AbortController().signal;
  const limit = { cwd, outputByteLimit: outputBytesMax };
  const creating = client.request("terminal/create", { sessionId, ...shell, ...limit }, never);
  try {
    return checkedAnswer("terminal/create", await creating).terminalId;
  } catch (error) {
    throw clientFailed(error);
  }
}

interface NamedTerminal {
  sessionId: string;
  terminalId: string;
}

const unknownEnd: CommandEnd = { exitCode: null, signal: null };

/** Waits until the command ends. Returns how it ended, or null if that is unknown. If the signal aborts, it kills the command. */
async function untilExit(client: AcpClient, named: NamedTerminal, signal: AbortSignal): Promise<CommandEnd | null> {
  try {
    return readCommandEnd(await client.request("terminal/wait_for_exit", named, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
    // If this fails, the release of the terminal ends the command.
    await client.request("terminal/kill", named, deadline()).catch(() => undefined);
    return null;
  }
}

/** Returns a timeout: a client that does not answer must not block a stopped turn. */
function deadline(): AbortSignal {
  return AbortSignal.timeout(limits.acpClientMsMax);
}

interface TerminalOutput {
  output: string;
  truncated: boolean;
}

/** Returns the output of the command. It is cut here if it is over the limit and the client did not cut it. */
function shownOutput(
  { output, truncated }: TerminalOutput,
  bytesMax: number,
): Pick<ShellCommandResult, "output" | "isCut"> {
  const bytes = Buffer.from(output);
  const isTooLong = bytes.byteLength > bytesMax;
  const kept = isTooLong ? bytes.subarray(bytes.byteLength - bytesMax) : bytes;
  return {
    // The cut may be in the middle of a character.
    output: isTooLong ? kept.toString("utf8").replace(/^\uFFFD+/, "") : output,
    isCut: truncated || isTooLong,
  };
}

function clientFailed(error: unknown): AptoveError {
  if (error instanceof AptoveError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AptoveError("client_failed", `the command could not be run in the client's terminal: ${reason}`);
}
