/**
 * Runs git to its end. A system that starts a process by copying the page tables of the process that starts it stands still
 * for as long as that takes, and a server has many of them. There a shell starts git (docs/decisions/0058).
 */
import { constants } from "node:buffer";
import { execFile, spawn } from "node:child_process";
import { onAbort } from "../abort.ts";
import { systemCode } from "../system-error.ts";
import type { GitRan, GitRun } from "./git-call.ts";
import { runByShell } from "./git-shells.ts";
import { endIfSilent } from "./git-silence.ts";

/** macOS and Windows start a process without a copy. */
const startsByCopy = process.platform === "linux";

/** Runs git to its end. Never rejects. */
export async function runGitCall(asked: GitRun): Promise<GitRan> {
  // The answer is one text, and a longer one would throw.
  const run = { ...asked, outputBytesMax: Math.min(asked.outputBytesMax, constants.MAX_STRING_LENGTH) };
  return (startsByCopy ? await runByShell(run) : null) ?? (await runDirectly(run));
}

/** Runs git as a child of this process. */
export async function runDirectly(run: GitRun): Promise<GitRan> {
  const { onText } = run;
  try {
    return onText === undefined ? await keepOutput(run) : await passOutput(run, onText);
  } catch (error) {
    // Arguments with a NUL are refused before a process starts.
    return systemCode(error) === "ENOENT" ? { outcome: "missing" } : { outcome: "stopped", reason: String(error) };
  }
}

async function keepOutput(run: GitRun): Promise<GitRan> {
  const { args, cwd, env, root, input = "", outputBytesMax: maxBuffer, signal } = run;
  return await new Promise((resolve) => {
    const child = execFile("git", args, { cwd, env, maxBuffer, signal }, (error, stdout, stderr) => {
      const exit = error === null ? 0 : error.code;
      if (typeof exit === "number") resolve({ outcome: "ended", exit, stdout, stderr });
      else if (exit === "ENOENT") resolve({ outcome: "missing" });
      else resolve({ outcome: "stopped", reason: String(error) });
    });
    endIfSilent(child, root);
    // A git that ends early closes its input. What it says about that is the answer.
    child.stdin?.on("error", () => undefined).end(input);
  });
}

async function passOutput(run: GitRun, onText: (text: string) => boolean): Promise<GitRan> {
  const { args, cwd, env, root, input = "", signal } = run;
  return await new Promise((resolve, reject) => {
    const child = spawn("git", args, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
    let stopReason: string | null = null;
    const stop = (reason: string): void => {
      stopReason ??= reason;
      child.kill("SIGKILL");
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      if (stopReason === null && !onText(text)) stop("no more of the answer was wanted");
    });
    child.stdin.on("error", () => undefined).end(input);
    endIfSilent(child, root);
    const remove = signal === undefined ? null : onAbort(signal, () => stop("the question was withdrawn"));
    child.on("error", reject);
    child.on("close", (exit, killedBy) => {
      remove?.();
      if (stopReason === null && exit !== null) resolve({ outcome: "ended", exit, stdout: "", stderr: "" });
      else resolve({ outcome: "stopped", reason: stopReason ?? `git was ended by ${killedBy}` });
    });
  });
}
