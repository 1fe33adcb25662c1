/**
 * Starts the programs of the benches. Those in `bench/programs` are bundled first, so that no process spends time and memory on
 * stripping types.
 */
import { spawn, spawnSync, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { build } from "esbuild";

export const root = join(import.meta.dirname, "..", "..");
const folder = join(root, ".cache", "bench");

export type Child = ChildProcessByStdio<Writable, Readable, null>;

let built: Promise<unknown> | null = null;

/** Bundles the programs of the benches. Returns the file of one of them. */
export async function programFile(name: string): Promise<string> {
  const sources = join(root, "bench", "programs");
  mkdirSync(folder, { recursive: true });
  built ??= build({
    entryPoints: readdirSync(sources).map((file) => join(sources, file)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node26",
    logLevel: "error",
  });
  await built;
  return join(folder, `${name}.mjs`);
}

export interface Start {
  args: readonly string[];
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** The processor on which it runs, if the machine has several and `taskset`. Default: any. */
  core?: 0 | 1;
}

const running = new Set<Child>();

// A bench that crashes leaves no process behind.
process.once("exit", () => running.forEach((child) => child.kill("SIGKILL")));

const isTaskset = ["0", "1"].every((core) => spawnSync("taskset", ["-c", core, "true"]).status === 0);

/** Starts a process. Its id is that of the program, because `taskset` becomes the program. */
export function start(command: string, { args, env = process.env, cwd, core }: Start): Child {
  const pinned = core !== undefined && isTaskset ? ["taskset", "-c", String(core)] : [];
  const [first = command, ...others] = [...pinned, command, ...args];
  const child = spawn(first, others, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

const ownCores = /Cpus_allowed_list:\s+(\S+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";

/** Moves this process to one processor, or with null to all. Does nothing without `taskset`. */
export function pinThisProcess(core: 0 | 1 | null): void {
  if (!isTaskset) return;
  const cores = core === null ? ownCores : String(core);
  spawnSync("taskset", ["-a", "-p", "-c", cores, String(process.pid)], { stdio: "ignore" });
}

/** Starts one of the programs of the benches. */
export async function startProgram(name: string, { args, core }: Pick<Start, "args" | "core">): Promise<Child> {
  const env = { ...process.env, APTOVE_BENCH_ROOT: root };
  return start(process.execPath, {
    env,
    args: [await programFile(name), ...args],
    ...(core !== undefined && { core }),
  });
}

/** Calls back for each line of the child's output. */
export function eachLine({ stdout }: Child, onLine: (line: string) => void): void {
  let rest = "";
  stdout.setEncoding("utf8").on("data", (piece: string) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}

/** Returns the first line of the child's output, which is JSON. Throws if it ends without one. */
export async function firstLine<T>(child: Child): Promise<T> {
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${child.spawnargs.join(" ")} ended with ${String(code)}`);
  });
  const line = new Promise<string>((resolve) => eachLine(child, resolve));
  return JSON.parse(await Promise.race([line, ended])) as T;
}

/** Asks the child to end, by the end of its input or a signal, and waits for it. */
export async function end(child: Child, signal?: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  if (signal === undefined) child.stdin.end();
  else child.kill(signal);
  await exited;
}

/** Returns the resident memory of the process and of all that it started, in bytes. */
export function residentBytes(pid: number): number {
  const own = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1_024;
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").trim().split(" ").filter(Boolean),
  );
  return children.reduce((sum, child) => sum + residentBytes(Number(child)), own);
}

/** Returns the processor time that the threads of the process have used, in milliseconds. */
export function processorMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const used = threads.map((id) => readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]);
  return used.reduce((sum, nanoseconds) => sum + Number(nanoseconds) / 1e6, 0);
}
