/**
 * Runs commands as local processes (P5). A command is never waited for longer than its signal allows, whatever it leaves
 * running. None of its processes remains after it ended or was stopped. If this process is killed, a watcher, which holds
 * the other end of a pipe, ends the command's process group.
 */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { EventEmitter } from "node:events";
import { StringDecoder } from "node:string_decoder";
import { limits } from "../../domain/limits.ts";
import { whenAborted, withinMs } from "../../system/abort.ts";
import { endFamily } from "../../system/process-family.ts";
import { startedPid, whenExited } from "../../system/processes.ts";
import type { ShellCommandResult, ShellCommandRequest, CommandRunner } from "../session-tools.ts";
import { commandShell } from "../shell.ts";
import { commandEnvironment, type CommandEnvironment } from "./environment.ts";
import { valueHider } from "./hide-values.ts";
import { OutputTail } from "./output-tail.ts";

export interface LocalCommandsOptions extends CommandEnvironment {
  /** The environment to filter for the command. Absent: the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  graceMs?: number;
  floodBytesMax?: number;
}

/** The variable that marks the processes of one command. */
const markName = "APTOVE_COMMAND";
/** Longest wait in milliseconds for output that was written and not read yet. */
const drainMs = 100;

export function localCommands(options: LocalCommandsOptions = {}): CommandRunner {
  return { run: (command) => runCommand(command, options) };
}

async function runCommand(command: ShellCommandRequest, options: LocalCommandsOptions): Promise<ShellCommandResult> {
  command.signal.throwIfAborted();
  const { env = process.env, graceMs = limits.commandGraceMs } = options;
  const mark = randomUUID();
  const child = startShell(command, { ...commandEnvironment(env, options), [markName]: mark });
  const { exited, closed } = endsOf(child);
  const hider = valueHider(options.secretValues ?? []);
  const shown = hider.stream(command.onOutput);
  const output = readOutput(
    child,
    { ...command, onOutput: shown.add },
    options.floodBytesMax ?? limits.commandFloodBytesMax,
  );
  const family = { pid: await startedPid(child), mark: `${markName}=${mark}` };
  try {
    const stopped = Promise.race([output.flooded, whenAborted(command.signal)]);
    await Promise.race([exited, stopped]);
    // Processes that it left running may still write output. Then they are ended.
    await withinMs(drainMs, Promise.race([closed, stopped]));
    await endFamily(family, graceMs);
    await withinMs(drainMs, closed);
  } finally {
    for (const pipe of child.stdio) pipe?.destroy();
    shown.end();
  }
  const { exitCode, signalCode } = child;
  return { exitCode, signal: signalCode, output: hider.hide(output.text()), isCut: output.isCut() };
}

/**
 * The watcher reads from a pipe that never receives data. The end of the pipe shows that this process is gone. Both
 * output streams of the command are one, so that their order is kept.
 */
const script = '(read -r _ <&3 || kill -KILL 0) >/dev/null 2>&1 &\nexec "$@" 2>&1 3<&-';

function startShell({ command, cwd }: ShellCommandRequest, env: Record<string, string>): ChildProcess {
  const options: SpawnOptions = { cwd, env, windowsHide: true };
  const shell = commandShell();
  if (process.platform === "win32") {
    return spawn(shell.program, [...shell.args, `"${command}"`], {
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
      windowsVerbatimArguments: true,
    });
  }
  const line = ["-c", script, "sh", shell.program, ...shell.args, command];
  return spawn("/bin/sh", line, { ...options, detached: true, stdio: ["ignore", "pipe", "ignore", "pipe"] });
}

/** Returns promises for the end of the process and of its output. The `close` event of the child is not used: it also waits for the watcher's pipe. */
function endsOf(child: ChildProcess): { exited: Promise<unknown>; closed: Promise<unknown> } {
  const close = (of: EventEmitter | null): Promise<void> =>
    new Promise((resolve) => (of === null ? resolve() : of.once("close", () => resolve())));
  const closed = Promise.all([child.stdout, child.stderr].map(close));
  return { exited: whenExited(child), closed };
}

interface ReadOutput {
  /** Resolves when the command has written more than any caller can use. */
  flooded: Promise<void>;
  text(): string;
  isCut(): boolean;
}

function readOutput(
  child: ChildProcess,
  { outputBytesMax, onOutput }: ShellCommandRequest,
  floodBytesMax: number,
): ReadOutput {
  const tail = new OutputTail(outputBytesMax);
  let isFlooded = false;
  const flooded = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder("utf8");
      stream?.on("data", (piece: Buffer) => {
        if (isFlooded) return;
        tail.add(piece);
        onOutput(decoder.write(piece));
        isFlooded = tail.bytes > floodBytesMax;
        if (isFlooded) resolve();
      });
    }
    // A broken pipe only means that the command ended.
    for (const pipe of child.stdio) pipe?.on("error", () => undefined);
  });
  const note = `\n(ended: it wrote more than ${Math.floor(floodBytesMax / 1_048_576)} MiB)`;
  return { flooded, text: () => tail.text() + (isFlooded ? note : ""), isCut: () => tail.isCut };
}
