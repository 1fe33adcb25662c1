/** Tells runners whose process is alive from others (R2). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "node:test";
import { isAlive, thisRunner } from "./this-runner.ts";

const statOf = (pid: number): string[] => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];

test(
  "[R2] a process that has ended is dead, though its parent has not noticed that",
  { skip: !existsSync("/proc/self/stat") && "there is no /proc" },
  async (t) => {
    const parent = spawn("sh", ["-c", "read line <&3 & echo $!; exec sleep 600"], {
      stdio: ["ignore", "pipe", "inherit", "pipe"],
    });
    t.after(() => parent.kill("SIGKILL"));
    const [line] = (await once(parent.stdout ?? assert.fail(), "data")) as [Buffer];
    const pid = Number(line.toString());
    const processStart = statOf(pid)[19] ?? assert.fail();
    // The shell would notice the end of its child; the program that replaces it does not.
    while (readFileSync(`/proc/${parent.pid}/comm`, "utf8") !== "sleep\n") await delay(2);
    parent.stdio[3]?.destroy();
    while (statOf(pid)[0] !== "Z") await delay(2);
    const self = thisRunner(null);
    assert.equal(isAlive({ ...self, pid, processStart }, self), false);
    assert.equal(isAlive(self, self), true);
  },
);
