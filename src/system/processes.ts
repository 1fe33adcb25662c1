/** Questions about processes of this machine. */
import { systemCode } from "./system-error.ts";

/** Returns true if a process has this id. The id may belong to another program than the one that it was noted for. */
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
