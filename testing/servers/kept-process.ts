/**
 * Servers for tests. Each runs in its own folder and ends with the process that started it, however that
 * process ends, kill -9 included: a shell between them holds a pipe to us, and kills the server when the pipe closes.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface KeptProcess {
  /** True until the server has ended. */
  isRunning(): boolean;
  /** Sends SIGSTOP: connections stay open, and nothing answers. */
  pause(): void;
  resume(): void;
  /** Kills the server with SIGKILL, paused or not. Resolves when it has ended. */
  kill(): Promise<void>;
}

export interface ProcessOptions {
  /** The working folder of the server, in which its log `<name>.log` is written. */
  folder: string;
  name: string;
  command: readonly string[];
}

/** The time that a process may take to stop after its signal. */
const stopMsMax = 5_000;

/** Prints the server's process id, and runs until the server ends or the pipe of standard input closes. */
const keeper = `
exec 3<&0
log=$1; shift
"$@" 3<&- </dev/null >>"$log" 2>&1 &
server=$!
echo "$server"
{ read -r nothing <&3; kill -KILL "$server"; } 2>/dev/null &
watcher=$!
wait "$server"
kill "$watcher"
`;

/** Starts a server. It is not ready before `untilReady` resolves. */
export async function startProcess({ folder, name, command }: ProcessOptions): Promise<KeptProcess> {
  const shell = spawn("sh", ["-c", keeper, "keeper", join(folder, `${name}.log`), ...command], {
    cwd: folder,
    // Ctrl-C must not reach the server: it ends the tests, which then end the server.
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const [pid] = (await once(shell.stdout, "data")) as [Buffer];
  const server = Number(pid.toString());
  const isRunning = (): boolean => shell.exitCode === null && shell.signalCode === null;
  const send = (signal: NodeJS.Signals): void => {
    if (!isRunning()) throw new Error(`${name} has ended`);
    process.kill(server, signal);
  };
  return {
    isRunning,
    pause: () => {
      send("SIGSTOP");
      const until = performance.now() + stopMsMax;
      while (isRunning() && !isStopped(server)) {
        if (performance.now() > until) throw new Error(`${name} does not stop`);
      }
    },
    resume: () => send("SIGCONT"),
    kill: () => end(shell),
  };
}

/** Returns true if no thread of the process runs. On a loaded machine a thread may go on for a moment after the signal. */
function isStopped(pid: number): boolean {
  const threads = `/proc/${pid}/task`;
  return readdirSync(threads).every((thread) => {
    try {
      // "1234 (the name) T 1 …": the state comes after the last parenthesis.
      return /\) T[^)]*$/.test(readFileSync(join(threads, thread, "stat"), "utf8"));
    } catch {
      // It has ended in the meantime. The next look is at the others.
      return false;
    }
  });
}

async function end(shell: ChildProcess): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  const exited = once(shell, "exit");
  shell.stdin?.end();
  await exited;
}

export interface ServiceFolder {
  path: string;
  remove(): Promise<void>;
}

/** Removes the folder when the pipe closes. The servers in it are killed at the same time. */
const folderKeeper = `read -r nothing; rm -rf "$1" || { sleep 1; rm -rf "$1"; }`;

/** Makes a folder that is removed with this process, however the process ends. */
export async function serviceFolder(name: string): Promise<ServiceFolder> {
  // The path of a socket may have about a hundred characters.
  const path = await mkdtemp(join(tmpdir(), `${name}-`));
  const shell = spawn("sh", ["-c", folderKeeper, "keeper", path], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  return {
    path,
    remove: async () => {
      await end(shell);
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** Returns a port that is free now. Another process may take it before the server does; then the start must be retried. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

export interface Readiness {
  folder: string;
  name: string;
  process: KeptProcess;
  timeoutMs: number;
  isReady(): Promise<boolean>;
}

/** Polls until the server answers. Throws, with the end of the log, if the server ended or takes too long. */
export async function untilReady({ folder, name, process, timeoutMs, isReady }: Readiness): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (process.isRunning() && performance.now() < until) {
    if (await isReady()) return;
    await pause(20);
  }
  const how = process.isRunning() ? `is not ready after ${timeoutMs} ms` : "ended while it was started";
  await process.kill();
  const log = await readFile(join(folder, `${name}.log`), "utf8");
  throw new Error(`${name} ${how}: ${log.slice(-2_000)}`);
}
