/** Ends a server's process with all that it started. */
import type { ChildProcess } from "node:child_process";
import { withinMs } from "../../system/abort.ts";
import { endFamily } from "../process-family.ts";

/** How long it has to end by itself once its input is closed, and then after it was asked to. */
const graceMs = { alone: 250, asked: 1_000 };

/** The process heads a group of its own (`detached`), except on Windows. Resolves when nothing of it is left. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const hasEnded = child.exitCode !== null || child.signalCode !== null;
  const ended = hasEnded ? null : new Promise<void>((resolve) => void child.once("exit", () => resolve()));
  // What it still says is not read any more: one that is in the middle of it must not wait for ever.
  child.stdout?.destroy();
  child.stdin?.end();
  if (ended !== null) await withinMs(graceMs.alone, ended);
  await endFamily({ pid: child.pid, mark: null }, graceMs.asked);
  if (ended !== null) await withinMs(graceMs.asked, ended);
  child.stdin?.destroy();
  child.stderr?.destroy();
}
