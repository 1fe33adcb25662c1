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
    const parent = spawn("sh", ["-c", "true & echo $!; exec sleep 600"]);
    t.after(() => parent.kill("SIGKILL"));
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    const processStart = statOf(pid)[19] ?? assert.fail();
    while (statOf(pid)[0] !== "Z") await delay(2);
    const self = thisRunner(null);
    assert.equal(isAlive({ ...self, pid, processStart }, self), false);
    assert.equal(isAlive(self, self), true);
  },
);
