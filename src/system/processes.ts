/** Processes of this machine: a check whether one is alive, and waits for the start and the end of a child. */
import type { ChildProcess } from "node:child_process";
import { readlinkSync } from "node:fs";
import { systemCode } from "./system-error.ts";

/** Returns true if a process has this id. The id may now belong to another program than when it was noted. */
export function isProcessAlive(pid: number): boolean {
  // Zero and negative ids name groups of processes.
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and belongs to another user.
    return systemCode(error) === "EPERM";
  }
}

/** Returns the identity of the namespace in which this process's id is valid. Undefined on a system without /proc. */
export function ownPidNamespace(): string | undefined {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return undefined;
  }
}

/** Returns true if process ids of that namespace mean nothing to this process, for example those of a container. */
export function isForeignNamespace(noted: string | undefined): boolean {
  const own = ownPidNamespace();
  return noted !== undefined && own !== undefined && noted !== own;
}

/** Returns the id of a child that was just started. Rejects with the system's error if it could not be started. */
export function startedPid(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    if (child.pid !== undefined) resolve(child.pid);
  });
}

/** Resolves when a child that was started has exited. Its output may still be read. */
export function whenExited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => void child.once("exit", () => resolve()));
}
