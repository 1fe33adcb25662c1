/** The shells that run git for this process. A shell that waits for long ends. */
import type { GitEnvironment, GitRan, GitRun } from "./git-call.ts";
import { GitShell, shellEnvironment } from "./git-shell.ts";

/** A git that hangs keeps its shell for as long as it may be silent. The questions of others do not wait for it. */
const shellsMax = 8;
/** A person asks again within this time, or after a longer pause. */
const idleMsMax = 30_000;

interface IdleShell {
  shell: GitShell;
  /** The environment of the shell, as text. */
  environment: string;
  timer: NodeJS.Timeout;
}

const idle: IdleShell[] = [];
const busy = new Set<GitShell>();

// A git that hangs would stay for ever.
process.on("exit", () => busy.forEach((shell) => shell.kill()));

/**
 * Runs git by a shell. Null if no shell has run it to its end: there is none, all are busy, it cannot be given the call, or it does
 * not know how git ended. Never rejects.
 */
export async function runByShell(run: GitRun): Promise<GitRan | null> {
  if (run.signal?.aborted === true) return { outcome: "stopped", reason: "the question was withdrawn" };
  if (busy.size >= shellsMax) return null;
  const env = shellEnvironment(run.env);
  const environment = JSON.stringify(env);
  const shell = takeIdle(environment) ?? newShell(env);
  if (shell === null) return null;
  busy.add(shell);
  try {
    return await shell.run(run);
  } finally {
    busy.delete(shell);
    if (shell.isOpen) keep(shell, environment);
  }
}

/** Returns a shell with this environment. Those with another one end: the environment of the process has changed since. */
function takeIdle(environment: string): GitShell | null {
  for (let entry = idle.pop(); entry !== undefined; entry = idle.pop()) {
    clearTimeout(entry.timer);
    if (entry.shell.isOpen && entry.environment === environment) return entry.shell;
    entry.shell.close();
  }
  return null;
}

/** Returns null if the system starts no process. Then git is started directly, and says what is wrong. */
function newShell(env: GitEnvironment): GitShell | null {
  try {
    const shell = new GitShell(env);
    return shell.isOpen ? shell : null;
  } catch {
    // Node throws some errors of the system, for example that there is no memory, and reports others.
    return null;
  }
}

function keep(shell: GitShell, environment: string): void {
  const entry: IdleShell = { shell, environment, timer: setTimeout(() => endIdle(entry), idleMsMax).unref() };
  idle.push(entry);
}

function endIdle(entry: IdleShell): void {
  const at = idle.indexOf(entry);
  if (at !== -1) idle.splice(at, 1);
  entry.shell.close();
}
