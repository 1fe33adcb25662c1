/** Ends a process with all that it started. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";

/** How long it has for each step: to end by itself once its input is closed, and after it was asked to. */
const stepsMs = { alone: 250, asked: 1_000 };

/** The process was started as the head of a group of its own (`detached`), except on Windows. Resolves when it has ended. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const ended = new Promise<void>((resolve) => {
    if (hasEnded(child)) resolve();
    else child.once("exit", () => resolve());
  });
  // What it still says is not read any more: one that is in the middle of it must not wait for ever.
  child.stdout?.destroy();
  child.stdin?.end();
  if (!(await within(ended, stepsMs.alone))) {
    signalGroup(child.pid, "SIGTERM");
    await within(ended, stepsMs.asked);
  }
  // What it started may have stayed behind, or it did itself.
  if (process.platform !== "win32" || !hasEnded(child)) signalGroup(child.pid, "SIGKILL");
  await within(ended, stepsMs.asked);
  child.stdin?.destroy();
  child.stderr?.destroy();
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  if (process.platform === "win32") {
    spawn("taskkill", ["/pid", `${pid}`, "/t", "/f"], { stdio: "ignore", windowsHide: true }).on("error", () => false);
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // ESRCH: nobody is left. EPERM: only what changed its owner is, which is not ours to end.
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

async function within(event: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  const isInTime = await Promise.race([event.then(() => true), late]);
  clearTimeout(timer);
  return isInTime;
}
