/** The shells that run git for this process. A shell that waits for long ends; a question that finds all of them busy waits for one. */
import type { GitRan, GitRun } from "./git-call.ts";
import { GitShell, shellCommand, shellEnvironment } from "./git-shell.ts";

const shellsMax = 8;
/** A person asks again within this time, or after a longer pause. */
const idleMsMax = 30_000;

interface IdleShell {
  shell: GitShell;
  timer: NodeJS.Timeout;
}

const idle: IdleShell[] = [];
const waiting: (() => void)[] = [];
let busy = 0;

/** Runs git by a shell. Null if no shell has run it to its end: there is none, or it cannot be given the call. Never rejects. */
export async function runByShell(run: GitRun): Promise<GitRan | null> {
  if (busy >= shellsMax) await new Promise<void>((resolve) => waiting.push(resolve));
  else busy += 1;
  try {
    if (run.signal?.aborted === true) return { outcome: "stopped", reason: "the question was withdrawn" };
    const shell = takeIdle() ?? new GitShell(shellEnvironment(run.env));
    const command = shellCommand(run, shell.environment);
    const ran = command === null ? null : await shell.run(command, run);
    keep(shell);
    return ran;
  } finally {
    // The place goes to the one that waits, so that no other takes it.
    const next = waiting.shift();
    if (next === undefined) busy -= 1;
    else next();
  }
}

function takeIdle(): GitShell | null {
  for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
    clearTimeout(entry.timer);
    if (entry.shell.isOpen) return entry.shell;
  }
  return null;
}

function keep(shell: GitShell): void {
  if (!shell.isOpen) return;
  const entry: IdleShell = { shell, timer: setTimeout(() => end(entry), idleMsMax).unref() };
  idle.push(entry);
}

function end(entry: IdleShell): void {
  const at = idle.indexOf(entry);
  if (at !== -1) idle.splice(at, 1);
  entry.shell.close();
}
