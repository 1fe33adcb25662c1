/**
 * Commands as processes of this machine (P5). A command is never waited for longer than its signal says, whatever it
 * leaves running, and nothing of it stays: not after it ended, not after it was stopped, and not after this process
 * was killed either, for then its watcher, which holds the other end of a pipe, ends the group.
 */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { EventEmitter } from "node:events";
import { existsSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { limits } from "../../domain/limits.ts";
import { whenAborted, withinMs } from "../../system/abort.ts";
import { endFamily } from "../../system/process-family.ts";
import { startedPid, whenExited } from "../../system/processes.ts";
import type { CommandOutcome, CommandRequest, CommandRunner } from "../session-tools.ts";
import { commandEnvironment, type CommandEnvironment } from "./environment.ts";
import { valueHider } from "./hide-values.ts";
import { OutputTail } from "./output-tail.ts";

export interface LocalCommandsOptions extends CommandEnvironment {
  /** In place of this process's own environment. */
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

async function runCommand(command: CommandRequest, options: LocalCommandsOptions): Promise<CommandOutcome> {
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
    // What it left running may still say something; then it is ended.
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
 * The watcher reads from a pipe that nobody writes to; its end says that this process is gone. Both streams of the
 * command are one, so that what it writes stays in order.
 */
const script = '(read -r _ <&3 || kill -KILL 0) >/dev/null 2>&1 &\nexec "$@" 2>&1 3<&-';

function startShell({ command, cwd }: CommandRequest, env: Record<string, string>): ChildProcess {
  const options: SpawnOptions = { cwd, env, windowsHide: true };
  if (process.platform === "win32") {
    const shell = process.env["ComSpec"] ?? "cmd.exe";
    const line = ["/d", "/s", "/c", `"${command}"`];
    return spawn(shell, line, { ...options, stdio: ["ignore", "pipe", "pipe"], windowsVerbatimArguments: true });
  }
  const shell = ["/bin/bash", "/usr/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh";
  const line = ["-c", script, "sh", shell, "-c", command];
  return spawn("/bin/sh", line, { ...options, detached: true, stdio: ["ignore", "pipe", "ignore", "pipe"] });
}

/** Not the `close` of the child: that waits for the watcher's pipe too. */
function endsOf(child: ChildProcess): { exited: Promise<unknown>; closed: Promise<unknown> } {
  const close = (of: EventEmitter | null): Promise<void> =>
    new Promise((resolve) => (of === null ? resolve() : of.once("close", () => resolve())));
  const closed = Promise.all([child.stdout, child.stderr].map(close));
  return { exited: whenExited(child), closed };
}

interface ReadOutput {
  /** Resolves when the command wrote more than anybody can want. */
  flooded: Promise<void>;
  text(): string;
  isCut(): boolean;
}

function readOutput(
  child: ChildProcess,
  { outputBytesMax, onOutput }: CommandRequest,
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
    // A pipe that breaks when the command dies says no more than that.
    for (const pipe of child.stdio) pipe?.on("error", () => undefined);
  });
  const note = `\n(ended: it wrote more than ${Math.floor(floodBytesMax / 1_048_576)} MiB)`;
  return { flooded, text: () => tail.text() + (isFlooded ? note : ""), isCut: () => tail.isCut };
}
