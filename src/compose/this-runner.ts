/** This process as a runner of turns, and whether the process behind another one still runs (R1, R2). */
import { readFileSync } from "node:fs";
import { hostname, uptime } from "node:os";
import { newId } from "../domain/ids.ts";
import type { Runner } from "../records/record-store.ts";
import { isProcessAlive } from "../system/processes.ts";

export function thisRunner(): Runner {
  return {
    id: newId(),
    host: hostname(),
    bootId: readOrEmpty("/proc/sys/kernel/random/boot_id").trim(),
    pid: process.pid,
    processStart: processStart(process.pid),
    startedAt: Date.now(),
  };
}

/**
 * Null: it cannot be told from here. Only a process of this machine and this boot can be judged; numbers are given
 * again, start times are not.
 */
export function isAlive(runner: Runner): boolean | null {
  if (runner.host !== hostname()) return null;
  if (runner.bootId !== readOrEmpty("/proc/sys/kernel/random/boot_id").trim()) return false;
  if (!isProcessAlive(runner.pid)) return false;
  return runner.processStart === "" || processStart(runner.pid) === runner.processStart;
}

/**
 * On Linux the time since the boot, because the clock of the process stands still while the machine sleeps, and leases
 * run out meanwhile. Elsewhere the process's clock goes on.
 */
export function monotonic(): number {
  const now = performance.now();
  if (process.platform !== "linux") return now;
  // It is asked for with every event; a file would be read each time.
  if (now - sinceBoot.readAt > bootClockMs) sinceBoot = { readAt: now, ms: uptime() * 1_000 };
  return sinceBoot.ms + (now - sinceBoot.readAt);
}

/** How long the process's own clock is taken on trust; a sleep of the machine is seen so much later. */
const bootClockMs = 50;
let sinceBoot = { readAt: -Infinity, ms: 0 };

/** Field 22 of the process's stat line, in clock ticks since boot; empty where there is no /proc. */
function processStart(pid: number): string {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The second field is the command in brackets and may hold anything, so counting starts behind it.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
