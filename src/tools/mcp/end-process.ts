/** Ends a server's process with all that it started. */
import type { ChildProcess } from "node:child_process";
import { withinMs } from "../../system/abort.ts";
import { endFamily } from "../../system/process-family.ts";
import { whenExited } from "../../system/processes.ts";

/** How long it has to end by itself once its input is closed, and then after it was asked to. */
const graceMs = { alone: 250, asked: 1_000 };

/** The process heads a group of its own (`detached`), except on Windows. Resolves when nothing of it is left. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const exited = whenExited(child);
  // Its output is not read any more: a process that is writing must not wait for a reader.
  child.stdout?.destroy();
  child.stdin?.end();
  await withinMs(graceMs.alone, exited);
  await endFamily({ pid: child.pid, mark: null }, graceMs.asked);
  await withinMs(graceMs.asked, exited);
  child.stdin?.destroy();
  child.stderr?.destroy();
}
