/**
 * Servers of tests: each runs in a folder of its own and ends with the process that started it, in whatever way that
 * ends, kill -9 included: a shell between them holds a pipe to us, and kills the server when the pipe closes.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface KeptProcess {
  /** True until the server has ended. */
  isRunning(): boolean;
  /** SIGSTOP: its connections stay open, and nothing answers. */
  pause(): void;
  resume(): void;
  /** kill -9, paused or not. Resolves when it has ended. */
  kill(): Promise<void>;
}

export interface ProcessOptions {
  /** Where it runs, and where its log `<name>.log` is written. */
  folder: string;
  name: string;
  command: readonly string[];
}

/** Says the server's id, and runs until the server ends or the pipe of standard input closes. */
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

/** Starts a server, which then still has to get ready: `untilReady`. */
export async function startProcess({ folder, name, command }: ProcessOptions): Promise<KeptProcess> {
  const shell = spawn("sh", ["-c", keeper, "keeper", join(folder, `${name}.log`), ...command], {
    cwd: folder,
    // Out of reach of Ctrl-C, which is for the tests: they end, and then this.
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
    pause: () => send("SIGSTOP"),
    resume: () => send("SIGCONT"),
    kill: () => end(shell),
  };
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

/** Removes the folder when the pipe closes; by then the servers in it are being killed. */
const folderKeeper = `read -r nothing; rm -rf "$1" || { sleep 1; rm -rf "$1"; }`;

/** A new folder that is gone with this process, however it ends. */
export async function serviceFolder(name: string): Promise<ServiceFolder> {
  // The path of a socket has room for about a hundred characters.
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

/** Nobody has it now; somebody may take it before the server does, so starting has to be tried again then. */
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

/** Asks until the server answers. Throws, with the end of its log, when it ended or takes too long. */
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
