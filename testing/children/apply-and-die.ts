/** Applies a bundle to a working copy and is killed before it renames the given file to its final name (X7). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { planBundle, type CurrentFile, type FileBundle } from "../../src/domain/file-bundle.ts";
import { sha256 } from "../../src/domain/ids.ts";
import { writeChanges } from "../../src/doors/cli/working-copy/write-changes.ts";

const [root = "", bundle = "", dieAt = ""] = process.argv.slice(2);

function read(path: string): CurrentFile | null {
  try {
    const content = readFileSync(join(root, path));
    return { content, sha256: sha256(content) };
  } catch {
    // In this test every file either exists or does not.
    return null;
  }
}

const planned = planBundle(JSON.parse(bundle) as FileBundle, { read });
if ("conflicts" in planned) process.exit(3);
writeChanges(root, planned.changes, (index) => {
  if (index === Number(dieAt)) process.kill(process.pid, "SIGKILL");
});
