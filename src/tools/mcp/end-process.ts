/** Ends a server's process with all processes that it started. */
import type { ChildProcess } from "node:child_process";
import { withinMs } from "../../system/abort.ts";
import { endFamily } from "../../system/process-family.ts";
import { whenExited } from "../../system/processes.ts";

/** The times in milliseconds that the process has to end: first after its input is closed, then after a signal requests it. */
const graceMs = { inputClosed: 250, signalled: 1_000 };

/**
 * Ends a process that leads its own group (`detached`), except on Windows. Resolves when no process of the group is left, and on
 * Linux none that has the mark in its environment.
 */
export async function endProcess(child: ChildProcess, mark: string): Promise<void> {
  if (child.pid === undefined) return;
  const exited = whenExited(child);
  // Its output is not read any more: a process that is writing must not wait for a reader.
  child.stdout?.destroy();
  child.stdin?.end();
  await withinMs(graceMs.inputClosed, exited);
  await endFamily({ pid: child.pid, mark }, graceMs.signalled);
  await withinMs(graceMs.signalled, exited);
  child.stdin?.destroy();
  child.stderr?.destroy();
}
