/** The shells that run git for this process. A shell that waits for long ends. */
import type { GitEnvironment, GitRan, GitRun } from "./git-call.ts";
import { GitShell, shellCommand, shellEnvironment } from "./git-shell.ts";

/** A git that hangs keeps its shell for as long as it may be silent. The questions of others do not wait for it. */
const shellsMax = 8;
/** A person asks again within this time, or after a longer pause. */
const idleMsMax = 30_000;

interface IdleShell {
  shell: GitShell;
  timer: NodeJS.Timeout;
}

const idle: IdleShell[] = [];
let busy = 0;

/** Runs git by a shell. Null if no shell has run it to its end: there is none, all are busy, or none can be given the call. Never rejects. */
export async function runByShell(run: GitRun): Promise<GitRan | null> {
  if (run.signal?.aborted === true) return { outcome: "stopped", reason: "the question was withdrawn" };
  if (busy >= shellsMax) return null;
  const shell = takeIdle() ?? newShell(run.env);
  if (shell === null) return null;
  const command = shellCommand(run, shell.environment);
  busy += 1;
  const ran = command === null ? null : await shell.run(command, run);
  busy -= 1;
  keep(shell);
  return ran;
}

/** Returns null if the system starts no process, for example because it has no memory or no descriptors for one. */
function newShell(env: GitEnvironment): GitShell | null {
  try {
    return new GitShell(shellEnvironment(env));
  } catch {
    // git is started directly, and says what is wrong.
    return null;
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
