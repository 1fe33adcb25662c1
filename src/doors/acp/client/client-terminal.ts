/** The client's terminals in place of own processes, where it offers them (P4): the person sees the command run. */
import type { TerminalOutputResponse } from "@agentclientprotocol/sdk";
import { AptoveError } from "../../../domain/errors.ts";
import { limits } from "../../../domain/limits.ts";
import type { ShellCommandResult, ShellCommandRequest, CommandRunner } from "../../../tools/session-tools.ts";
import type { Client } from "./client.ts";

export interface TerminalPorts {
  client: Client;
  sessionId: string;
  /** Called when the terminal is there, so that the call can show it. */
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
    await untilExit(client, named, command.signal);
    const output = await client.request("terminal/output", named, deadline());
    return outcomeOf(output, command.outputBytesMax);
  } catch (error) {
    throw clientFailed(error);
  } finally {
    // What it showed stays visible. A client that cannot release it any more has nothing left to release.
    await client.request("terminal/release", named, deadline()).catch(() => undefined);
  }
}

/** Never given up half-way: a terminal whose id nobody knows could not be released. */
async function create({ client, sessionId }: TerminalPorts, asked: ShellCommandRequest): Promise<string> {
  const { command, cwd, outputBytesMax } = asked;
  const shell =
    process.platform === "win32"
      ? { command: "cmd.exe", args: ["/d", "/s", "/c", command] }
      : { command: "sh", args: ["-c", command] };
  const never = new AbortController().signal;
  const limit = { cwd, outputByteLimit: outputBytesMax };
  const creating = client.request("terminal/create", { sessionId, ...shell, ...limit }, never);
  try {
    return (await creating).terminalId;
  } catch (error) {
    throw clientFailed(error);
  }
}

interface NamedTerminal {
  sessionId: string;
  terminalId: string;
}

/** Also when the signal aborts: then the command is ended. */
async function untilExit(client: Client, named: NamedTerminal, signal: AbortSignal): Promise<void> {
  try {
    await client.request("terminal/wait_for_exit", named, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    // Releasing it ends the command too.
    await client.request("terminal/kill", named, deadline()).catch(() => undefined);
  }
}

/** A client that does not answer must not hold a turn that was stopped. */
function deadline(): AbortSignal {
  return AbortSignal.timeout(limits.acpClientMsMax);
}

/** The client was told the limit; one that does not keep to it is cut here. */
function outcomeOf({ output, truncated, exitStatus }: TerminalOutputResponse, bytesMax: number): ShellCommandResult {
  const bytes = Buffer.from(output);
  const isTooLong = bytes.byteLength > bytesMax;
  const kept = isTooLong ? bytes.subarray(bytes.byteLength - bytesMax) : bytes;
  return {
    exitCode: exitStatus?.exitCode ?? null,
    signal: exitStatus?.signal ?? null,
    // The cut may have gone through a character.
    output: isTooLong ? kept.toString("utf8").replace(/^\uFFFD+/, "") : output,
    isCut: truncated || isTooLong,
  };
}

function clientFailed(error: unknown): AptoveError {
  if (error instanceof AptoveError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new AptoveError("client_failed", `the command could not be run in the client's terminal: ${reason}`);
}
