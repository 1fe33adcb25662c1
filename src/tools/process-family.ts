/**
 * A process of a tool with all that it started: its group, and on Linux also what left the group, where that is known
 * by a mark in its environment.
 */
import { spawn } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

export const markName = "APTOVE_COMMAND";

export interface Family {
  /** Of the first process, which leads the group. */
  pid: number;
  /** Null: it has none. */
  mark: string | null;
}

const pauseMsMax = 50;
/** What another process keeps back for longer is not waited for. */
const environmentMsMax = 500;
/** A process that is just forking may be missed once; nobody forks when all are dead. */
const killsMax = 20;

/** Asks all to end, and ends after the grace who did not. Resolves when none is left that can be ended. */
export async function endFamily(family: Family, graceMs: number): Promise<void> {
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

/** Whether there was any to signal. */
async function signalAll(family: Family, signal: NodeJS.Signals | 0): Promise<boolean> {
  const members = process.platform === "linux" ? await membersOf(family) : [];
  // The group first, in one go: nobody in it can start another meanwhile.
  const isGroupThere = sent(-family.pid, signal);
  const reached = members.filter((pid) => sent(pid, signal));
  // A group may consist of dead processes that nobody collects; only Linux says so.
  return process.platform === "linux" ? reached.length > 0 : isGroupThere;
}

function sent(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    // ESRCH: it is gone. EPERM: it is somebody else's by now, and cannot be ended.
    return false;
  }
}

interface Member {
  pid: number;
  state: string;
  group: number;
  /** In ticks since the system started. */
  startedAt: number;
}

/** Null: it is gone, or nobody's to look at. */
async function memberAt(pid: number | "self"): Promise<Member | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
  if (stat === null) return null;
  // Behind the name in brackets, which may hold anything: the third field and what follows it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid: Number.parseInt(stat),
    state: fields[0] ?? "",
    group: Number(fields[2]),
    startedAt: Number(fields[19]),
  };
}

/** Living processes of the group, or with the mark. */
async function membersOf({ pid: group, mark }: Family): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const [own, ...all] = await Promise.all([memberAt("self"), ...pids.map(memberAt)]);
  const entry = mark === null ? null : `\0${markName}=${mark}\0`;
  const found = await Promise.all(
    all.map(async (member) => {
      if (member === null || "ZX".includes(member.state)) return [];
      if (member.group === group) return [member.pid];
      // What is older than this process cannot be of a command of it.
      if (entry === null || member.startedAt < (own?.startedAt ?? 0)) return [];
      return (await environmentOf(member.pid)).includes(entry) ? [member.pid] : [];
    }),
  );
  return found.flat();
}

/** Empty where it cannot be read; the system keeps it back while a program is being started, however long that takes. */
async function environmentOf(pid: number): Promise<string> {
  const late = new AbortController();
  const text = readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  const inTime = delay(environmentMsMax, "", { signal: late.signal }).catch(() => "");
  const found = await Promise.race([text, inTime]);
  late.abort();
  return `\0${found}`;
}

/** Windows has no groups, but a command that ends a process with its children. */
function endTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const killer = spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
    killer.on("error", () => resolve());
    killer.on("close", () => resolve());
  });
}
