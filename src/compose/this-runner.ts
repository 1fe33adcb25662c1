/** Describes this process as a runner of turns, and checks whether the process of another runner is alive (R1, R2). */
import { readFileSync } from "node:fs";
import { hostname, uptime } from "node:os";
import { newId } from "../domain/ids.ts";
import type { Runner } from "../records/record-store.ts";
import { isForeignNamespace, isProcessAlive, ownPidNamespace } from "../system/processes.ts";
import { fileIdentity } from "../system/read-files.ts";

/** Returns this process as a runner. `records` is the database of this machine that it serves, or null if its records are elsewhere. */
export function thisRunner(records: string | null): Runner {
  const pidNamespace = ownPidNamespace();
  return {
    id: newId(),
    host: hostname(),
    bootId: readOrEmpty("/proc/sys/kernel/random/boot_id").trim(),
    pid: process.pid,
    ...(pidNamespace !== undefined && { pidNamespace }),
    processStart: processStart(process.pid),
    startedAt: Date.now(),
    ...(records !== null && { records: fileIdentity(records) }),
  };
}

/**
 * Returns whether the process of another runner is alive and serves the same records. Null if it runs on another machine, in another
 * namespace of process ids, or is stopped.
 * A process of an earlier boot is dead. The start time is compared too, because the system reuses process ids. A copy of the records has
 * their runners, but the process of such a runner never ends a turn in the copy, so there it counts as dead.
 */
export function isAlive(runner: Runner, self: Runner): boolean | null {
  if (runner.host !== hostname()) return null;
  if (runner.bootId !== readOrEmpty("/proc/sys/kernel/random/boot_id").trim()) return false;
  if (runner.records !== undefined && self.records !== undefined && runner.records !== self.records) return false;
  // The same id may belong to another process here. Only the leases of the runner say whether it lives.
  if (isForeignNamespace(runner.pidNamespace)) return null;
  if (!isProcessAlive(runner.pid)) return false;
  const isSame = runner.processStart === "" || processStart(runner.pid) === runner.processStart;
  const state = stateOf(runner.pid);
  // It has ended, and its parent has not noticed that, which some parents never do.
  if (!isSame || state === "Z") return false;
  // A process that a signal stopped, for example Ctrl-Z, does nothing for its turns. Then only its leases decide.
  return ["T", "t"].includes(state) ? null : true;
}

/**
 * Returns a time in milliseconds that never goes back. On Linux it is the time since the boot: the clock of the process stops
 * while the machine sleeps, but leases expire meanwhile. On other systems the clock of the process does not stop.
 */
export function monotonic(): number {
  const now = performance.now();
  if (process.platform !== "linux") return now;
  // Every event calls this, and `uptime` reads a file each time.
  if (now - sinceBoot.readAt > bootClockMs) sinceBoot = { readAt: now, ms: uptime() * 1_000 };
  return sinceBoot.ms + (now - sinceBoot.readAt);
}

/** How long the process's clock is trusted, in milliseconds. A sleep of the machine is noticed at most this much later. */
const bootClockMs = 50;
let sinceBoot = { readAt: -Infinity, ms: 0 };

/** Returns the letter of the process's state. Empty on a system without /proc. */
function stateOf(pid: number): string {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
}

/** Returns field 22 of the process's stat line, in clock ticks since the boot. Empty on a system without /proc. */
function processStart(pid: number): string {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  // The second field is the command in brackets and may contain anything, so counting starts after it.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
