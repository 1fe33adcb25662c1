/**
 * Ends a process group if this process dies without being able to end it (kill -9, out of memory). A shell beside the group
 * reads from a pipe that never receives data. The end of the pipe shows that this process is gone.
 */
import { spawn } from "node:child_process";
import { whenExited } from "./processes.ts";

/** Requests the group to end, and kills it a second later, as this process would do. */
const script = 'read -r _; kill -TERM "-$1"; sleep 1; kill -KILL "-$1"';

export interface OrphanWatch {
  /** Ends the watch, which must happen before the id of the group can belong to another one. Resolves when it is over. */
  stop(): Promise<void>;
}

/** Watches over a group by the id of its leader. On a system without groups or without a shell, nothing watches. */
export function endIfOrphaned(groupId: number): OrphanWatch {
  if (process.platform === "win32") return { stop: () => Promise.resolve() };
  const watcher = spawn("/bin/sh", ["-c", script, "sh", String(groupId)], {
    cwd: "/",
    // It leads a group of its own: a signal to the watched group, or from the terminal, must not end it.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Without a shell the group has no watch, as before there was one.
  watcher.on("error", () => undefined);
  watcher.stdin.on("error", () => undefined);
  watcher.unref();
  return {
    stop: async () => {
      if (watcher.pid === undefined) return;
      const exited = whenExited(watcher);
      watcher.ref();
      watcher.kill("SIGKILL");
      await exited;
    },
  };
}
