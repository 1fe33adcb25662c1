/**
 * Runs a program on a separate file system that has almost no room: a tmpfs in a mount namespace, so that
 * no privilege is needed if user namespaces are allowed, and nothing is left when the program ends.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import type { TestContext } from "node:test";
import { temporaryFolder } from "./temporary-folder.ts";

/** The options of `unshare` that let a user mount a file system. */
export const mounting = ["--map-root-user", "--mount"];

export function canMount(): boolean {
  return spawnSync("unshare", [...mounting, "mount", "-t", "tmpfs", "none", tmpdir()]).status === 0;
}

/**
 * Runs `script` with the folder of the small disk as its argument, and fails with its output unless it
 * ends with 0. `options` are those of tmpfs, for example `size=256k`. Skips the test if this machine cannot do it.
 */
export async function runOnSmallDisk(context: TestContext, script: string, options: string): Promise<void> {
  if (!canMount()) return context.skip("this machine does not allow a user to mount a file system");
  const folder = await temporaryFolder(context);
  const mount = `mount -t tmpfs -o "$0" none "$1" && shift && exec "$@"`;
  const command = ["sh", "-c", mount, options, folder, process.execPath, script, folder];
  const run = spawnSync("unshare", [...mounting, ...command], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr + run.stdout);
}
