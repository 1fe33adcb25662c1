/**
 * A process with all processes that it started: its group, and on Linux also those that left the group, if a mark in their
 * environment identifies them.
 */
import { spawn } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { withinMs } from "./abort.ts";

/** A process and all processes that it started. */
export interface ProcessFamily {
  /** The id of the first process, which leads the group. */
  pid: number;
  /** An entry of the environment, as `NAME=value`, that only this family has. Null if it has none. */
  mark: string | null;
}

const pauseMsMax = 50;
/** The longest wait in milliseconds for the environment of a process. */
const environmentMsMax = 500;
/** The most rounds of kills. One round may miss a process that is just forking; none forks when all are dead. */
const killsMax = 20;

/** Requests all processes to end, and kills those that still run after the grace time. Resolves when none is left that can be ended. */
export async function endFamily(family: ProcessFamily, graceMs: number): Promise<void> {
  if (process.platform === "win32") return await endTree(family.pid);
  const until = performance.now() + graceMs;
  let isAnyLeft = await signalAll(family, "SIGTERM");
  for (let pauseMs = 2; isAnyLeft && performance.now() < until; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    await delay(pauseMs);
    isAnyLeft = await signalAll(family, 0);
  }
  for (let kills = 0; isAnyLeft && kills < killsMax; kills++) {
    isAnyLeft = await signalAll(family, "SIGKILL");
    if (isAnyLeft) await delay(pauseMsMax);
  }
}

/** Returns true if there was any process to signal. */
async function signalAll(family: ProcessFamily, signal: NodeJS.Signals | 0): Promise<boolean> {
  const members = process.platform === "linux" ? await membersOf(family) : [];
  // The group is signalled first, in one call, so that no process in it can start another in the meantime.
  const isGroupThere = sendSignal(-family.pid, signal);
  const reached = members.filter((pid) => sendSignal(pid, signal));
  // A group may consist of dead processes that their parent has not collected. Only Linux shows that.
  return process.platform === "linux" ? reached.length > 0 : isGroupThere;
}

/** Signals the process with this id; a negative id names a group. Returns false if there is none that this process may signal. */
export function sendSignal(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    // ESRCH: it is gone. EPERM: the id belongs to another user's process now, which cannot be ended.
    return false;
  }
}

interface Member {
  pid: number;
  state: string;
  group: number;
  /** The start time in ticks since the start of the system. */
  startedAt: number;
}

/** Returns null if the process is gone, or hidden from this user. */
async function memberAt(pid: number | "self"): Promise<Member | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
  if (stat === null) return null;
  // The fields after the name in brackets, which may contain any text: the third field and the following ones.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid: Number.parseInt(stat),
    state: fields[0] ?? "",
    group: Number(fields[2]),
    startedAt: Number(fields[19]),
  };
}

/** Returns the living processes of the group, and those with the mark. */
async function membersOf({ pid: group, mark }: ProcessFamily): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const [own, ...all] = await Promise.all([memberAt("self"), ...pids.map(memberAt)]);
  const entry = mark === null ? null : `\0${mark}\0`;
  const found = await Promise.all(
    all.map(async (member) => {
      if (member === null || "ZX".includes(member.state)) return [];
      if (member.group === group) return [member.pid];
      // A process that is older than this one was not started by it.
      if (entry === null || member.startedAt < (own?.startedAt ?? 0)) return [];
      return (await environmentOf(member.pid)).includes(entry) ? [member.pid] : [];
    }),
  );
  return found.flat();
}

/** Returns the environment of a process. Empty if it cannot be read: the system blocks the read while a program starts, however long that takes. */
async function environmentOf(pid: number): Promise<string> {
  const text = readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  return `\0${(await withinMs(environmentMsMax, text)) ?? ""}`;
}

/** Ends a process with its children by a command of Windows, which has no groups. */
function endTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const killer = spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
    killer.on("error", () => resolve());
    killer.on("close", () => resolve());
  });
}
