/** Reads what the files of a working copy on this machine have now (X6). */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { type FileNow, type OpenWorkingCopy, pathFault } from "../domain/active-file.ts";
import { sha256 } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { readableText } from "./source-text.ts";
import { WorkingCopyFiles } from "./repository-files.ts";

export const openWorkingCopy: OpenWorkingCopy = (folder) => {
  const root = topFolder(folder);
  if (root === null) return null;
  const files = new WorkingCopyFiles(root);
  return { root, look: async (path) => (pathFault(path) === null ? await look(files, path) : null) };
};

function topFolder(folder: string): string | null {
  try {
    const root = realpathSync(folder);
    for (let at = root; ; at = dirname(at)) {
      if (existsSync(join(at, ".git"))) return at === root ? root : null;
      if (dirname(at) === at) return root;
    }
  } catch {
    return null;
  }
}

async function look(files: WorkingCopyFiles, path: string): Promise<FileNow | null> {
  try {
    const facts = files.stat(path);
    if (facts === null) return null;
    if (facts.sizeBytes > limits.indexedFileBytesMax) return { hash: null, text: null };
    const content = await files.read(path);
    return content === null ? null : { hash: sha256(content), text: readableText(content) };
  } catch {
    // A file that exists and cannot be read: nothing is known about it.
    return { hash: null, text: null };
  }
}
