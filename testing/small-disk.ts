/**
 * Runs a program on a separate file system that has almost no room: a tmpfs in a mount namespace, so that
 * no privilege is needed if user namespaces are allowed, and nothing is left when the program ends.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import type { TestContext } from "node:test";
import { temporaryFolder } from "./temporary-folder.ts";

/**
 * Runs `script` with the folder of the small disk as its argument, and fails with its output unless it
 * ends with 0. `options` are those of tmpfs, for example `size=256k`. Skips the test if this machine cannot do it.
 */
export async function runOnSmallDisk(context: TestContext, script: string, options: string): Promise<void> {
  if (process.platform !== "linux") return context.skip("small disks are mounted on Linux only");
  const folder = await temporaryFolder(context);
  const inNamespace = (...command: string[]) => {
    const mount = `mount -t tmpfs -o "$0" none "$1" && shift && exec "$@"`;
    const args = ["--map-root-user", "--mount", "sh", "-c", mount, options, folder, ...command];
    return spawnSync("unshare", args, { encoding: "utf8" });
  };
  if (inNamespace("true").status !== 0)
    return context.skip("this machine does not allow a user to mount a file system");
  const run = inNamespace(process.execPath, script, folder);
  assert.equal(run.status, 0, run.stderr + run.stdout);
}
