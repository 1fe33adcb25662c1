/** Finds the processes that a run of the tests left, by the mark in their environment. Linux only. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { markVariable } from "./test-home.ts";

/** The time that a process may take to end by itself. */
const graceMs = 2_000;

/** Ends the processes and returns them. Those that end by themselves within a moment do not count. */
export async function endProcessesOf(mark: string): Promise<string[]> {
  const until = performance.now() + graceMs;
  let left = processesOf(mark);
  while (left.length > 0 && performance.now() < until) {
    await pause(50);
    left = processesOf(mark);
  }
  for (const { pid } of left) end(pid);
  return left.map(({ pid, command }) => `process ${pid}: ${command}`);
}

interface MarkedProcess {
  pid: number;
  command: string;
}

function processesOf(mark: string): MarkedProcess[] {
  if (!existsSync("/proc")) return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return (
    pids
      .filter((pid) => readProcess(pid, "environ").split("\0").includes(`${markVariable}=${mark}`))
      .map((pid) => ({ pid: Number(pid), command: readProcess(pid, "cmdline").replaceAll("\0", " ").trim() }))
      // A zombie has ended, but its parent has not waited for it yet.
      .filter(({ command }) => command !== "")
  );
}

/** Returns the environment. It is empty for a process that has ended or belongs to another user. */
function readProcess(pid: string, file: "environ" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
