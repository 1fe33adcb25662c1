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

test(
  "[R2] the process id of another namespace does not say whether its process is alive",
  { skip: !existsSync("/proc/self/ns/pid") && "there are no namespaces" },
  () => {
    const self = thisRunner(null);
    const ended = { ...self, pid: 2 ** 31 - 1 };
    assert.equal(isAlive(ended, self), false);
    assert.equal(isAlive({ ...ended, pidNamespace: "pid:[1]" }, self), null);
    assert.equal(isAlive({ ...self, pidNamespace: "pid:[1]" }, self), null);
    // No process ends a turn of a copy, wherever it runs.
    const copied = { ...ended, pidNamespace: "pid:[1]", records: "1 2" };
    assert.equal(isAlive(copied, { ...self, records: "1 3" }), false);
    const { pidNamespace: _none, ...earlier } = ended;
    assert.equal(isAlive(earlier, self), false);
  },
);
