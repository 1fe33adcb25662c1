/** A copy of the sources in which faults are put. The packages are linked, not copied. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface ScratchCopy {
  dir: string;
  remove(): Promise<void>;
}

/** Copies the files that git knows or would take, as they are now. */
export async function scratchCopy(root: string): Promise<ScratchCopy> {
  const dir = await mkdtemp(join(tmpdir(), "aptove-mutants-"));
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const path of listed.split("\0")) {
    // A file that was deleted and not yet committed is still listed.
    if (path === "" || !existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    cpSync(join(root, path), join(dir, path));
  }
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"), "junction");
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}
