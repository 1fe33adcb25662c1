/**
 * Asks git about a folder that any person or program may have made. Everything else asks git through this file. Nothing that
 * the repository says runs a program, points at another repository, or keeps git waiting for ever (`git-safety.ts`,
 * `git-repository.ts`, `git-silence.ts`). How git is started is in `git-run.ts`. No file is written or locked, nothing is fetched, no password is requested. Failures are data: the caller decides what they mean.
 */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { GitRan } from "./git-call.ts";
import { runGitCall } from "./git-run.ts";
import { safeCall } from "./git-safety.ts";
import { silenceOf } from "./git-silence.ts";

/** The outcome of a question. `missing`: git is not installed. `failed`: the reason is the first line of its error output, or why it ended or was not run. */
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
  /** What git reads on its standard input: lines, each with its end. */
  input?: string;
  /** Ends git when it aborts. The answer is then a failure. */
  signal?: AbortSignal | undefined;
}

/** Asks git one question. Rejects only if the command is not one of the safe ones. */
export async function askGit(question: GitQuestion): Promise<GitAnswer> {
  const { folder, args, answerBytesMax, input = "", signal } = question;
  const call = await safeCall(folder, args, signal);
  if (call.outcome !== "ready") return call;
  const ran = await runGitCall({ ...call, input, outputBytesMax: answerBytesMax, signal });
  if (ran.outcome === "missing") return ran;
  if (ran.outcome === "ended" && ran.exit === 0) return { outcome: "answered", text: ran.stdout };
  return { outcome: "failed", reason: silenceOf(call.root) ?? reasonOf(ran) };
}

function reasonOf(ran: Exclude<GitRan, { outcome: "missing" }>): string {
  if (ran.outcome === "stopped") return ran.reason;
  return ran.stderr.trim().split("\n")[0] || `git ended with exit code ${ran.exit}`;
}

export interface GitStream {
  folder: string;
  args: readonly string[];
  /** Ends git when it aborts. Text that was received until then is valid. */
  signal: AbortSignal;
  /** Receives the answer piece by piece. Git ends after its first `false`. */
  onText(text: string): boolean;
}

/** Asks git for a long answer. Returns false if git could not answer. Rejects as `askGit` does. */
export async function streamGit({ folder, args, signal, onText }: GitStream): Promise<boolean> {
  const call = await safeCall(folder, args, signal);
  if (call.outcome !== "ready") return false;
  let isEnough = false;
  const onPiece = (text: string): boolean => {
    isEnough = !onText(text);
    return !isEnough;
  };
  const ran = await runGitCall({ ...call, outputBytesMax: 0, signal, onText: onPiece });
  return isEnough || signal.aborted || (ran.outcome === "ended" && ran.exit === 0);
}

export type GitProcess = ChildProcessByStdio<Writable, Readable, null>;

/**
 * Starts a git process that answers many questions on its input. Its output ends if it fails. The caller kills it, also
 * if it does not answer in time. Null if the repository is not asked anything.
 */
export async function startGit(folder: string, args: readonly string[]): Promise<GitProcess | null> {
  const call = await safeCall(folder, args);
  if (call.outcome !== "ready") return null;
  const stdio: ["pipe", "pipe", "ignore"] = ["pipe", "pipe", "ignore"];
  const child = spawn("git", call.args, { cwd: call.cwd, env: call.env, stdio });
  child.on("error", () => child.stdout.destroy());
  child.stdin.on("error", () => child.stdout.destroy());
  return child;
}
