/**
 * Asks git about a folder that any person or program may have made. The configuration of a repository can name programs,
 * and git runs them even for questions that only read. Here none of them runs, nothing is fetched or locked, and no
 * password is requested. Failures are data: the caller decides what they mean.
 */
import { execFile, spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { onAbort } from "./abort.ts";
import { systemCode } from "./system-error.ts";

/** Options in front of git's subcommand. */
const safeOptions: readonly string[] = [
  // Disables the program that reports changed files.
  ...["-c", "core.fsmonitor=false"],
  // Ignores a folder of the repository that looks like git's own and has its own configuration. A clone can contain one.
  ...["-c", "safe.bareRepository=explicit"],
];

/** Returns the environment without the variables that point git at another repository. */
function safeEnvironment(own: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  // The user's own configuration stays in effect, and so does the folder at which git stops searching for a repository.
  const kept = Object.entries(own).filter(([name]) => !/^GIT_(?!CONFIG_|CEILING_)/.test(name));
  return {
    ...Object.fromEntries(kept),
    // Without these, programs that the repository names would fetch missing objects. Old versions of git know only the second
    // variable, which allows no protocol.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    LC_ALL: "C",
  };
}

function processOptions(folder: string) {
  return { cwd: folder, env: safeEnvironment(process.env) };
}

/** The outcome of a question. `missing`: git is not installed. `failed`: the reason is the first line of its error output, or why it ended. */
export type GitAnswer =
  | { outcome: "answered"; text: string }
  | { outcome: "missing" }
  | { outcome: "failed"; reason: string };

export interface GitQuestion {
  /** The folder in which git runs. */
  folder: string;
  args: readonly string[];
  /** The largest size of an answer in bytes. A larger answer is a failure. */
  answerBytesMax: number;
  /** Ends git when it aborts. The answer is then a failure. */
  signal?: AbortSignal | undefined;
}

const runFile = promisify(execFile);

/** Asks git one question. Never rejects. */
export async function askGit({ folder, args, answerBytesMax, signal }: GitQuestion): Promise<GitAnswer> {
  try {
    const options = { ...processOptions(folder), maxBuffer: answerBytesMax, signal };
    const { stdout } = await runFile("git", [...safeOptions, ...args], options);
    return { outcome: "answered", text: stdout };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { outcome: "missing" };
    // Arguments with a NUL are refused before a process starts. Then there is no error output.
    const { stderr = "" } = error as { stderr?: string };
    return { outcome: "failed", reason: stderr.trim().split("\n")[0] || String(error) };
  }
}

export interface GitStream {
  folder: string;
  args: readonly string[];
  /** Ends git when it aborts. Text that was received until then is valid. */
  signal: AbortSignal;
  /** Receives the answer piece by piece. Git ends after its first `false`. */
  onText(text: string): boolean;
}

/** Asks git for a long answer. Returns false if git could not answer. Never rejects. */
export function streamGit({ folder, args, signal, onText }: GitStream): Promise<boolean> {
  return new Promise((resolve) => {
    const stdio: ["ignore", "pipe", "ignore"] = ["ignore", "pipe", "ignore"];
    const child = spawn("git", [...safeOptions, ...args], { ...processOptions(folder), stdio });
    const stop = (): void => void child.kill("SIGKILL");
    let isStopped = false;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (isStopped || onText(text)) return;
      isStopped = true;
      stop();
    });
    const removeListener = onAbort(signal, stop);
    child.on("error", () => resolve(false));
    child.on("close", (code) => {
      removeListener();
      resolve(code === 0 || isStopped || signal.aborted);
    });
  });
}

/** Starts a git process that answers many questions on its input. Its output ends if it fails. The caller kills it. */
export function startGit(folder: string, args: readonly string[]): ChildProcessByStdio<Writable, Readable, null> {
  const stdio: ["pipe", "pipe", "ignore"] = ["pipe", "pipe", "ignore"];
  const child = spawn("git", [...safeOptions, ...args], { ...processOptions(folder), stdio });
  child.on("error", () => child.stdout.destroy());
  child.stdin.on("error", () => child.stdout.destroy());
  return child;
}
