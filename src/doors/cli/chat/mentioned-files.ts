/** Files that a line names as `@path`. They are sent with it, like those of `--file`. */
import { realpathSync, statSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";

const mention = /(?:^|\s)@(?:"([^"]+)"|([^\s"]+))/g;

/**
 * Returns the paths, as they were typed, that are files within `root`. Any other word that begins with @ is plain text:
 * a name, a decorator, a package.
 */
export function mentionedFiles(text: string, { folder, root }: { folder: string; root: string }): string[] {
  const found = new Set<string>();
  for (const [, quoted, bare] of text.matchAll(mention)) {
    const path = quoted ?? fileOf(bare ?? "", folder);
    if (path !== null && isFileWithin(root, resolve(folder, path))) found.add(path);
  }
  return [...found];
}

/** A full stop or a bracket after the path belongs to the sentence, unless there is a file of that name. */
function fileOf(word: string, folder: string): string | null {
  const bare = word.replace(/[.,;:!?)\]}]+$/, "");
  return [word, bare].find((path) => path !== "" && isFile(resolve(folder, path))) ?? null;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isFileWithin(root: string, path: string): boolean {
  if (!isFile(path)) return false;
  const from = relative(realpathSync(root), realpathSync(path));
  return from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}
