/** Files that a line names as `@path`. They are sent with it, like those of `--file`. */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { distance } from "fastest-levenshtein";

const mention = /(?:^|\s)@(?:"([^"]+)"|([^\s"]+))/g;
/** A word that ends like a file's name: `@gret.ts`. */
const endsLikeFile = /[^./]\.[A-Za-z][A-Za-z0-9]{0,7}$/;
/** How many letters a mistyped name may differ in. */
const typoLettersMax = 2;

export interface MentionedFiles {
  /** The paths, as they were typed, that are files within the working copy. */
  files: string[];
  /** What a person should know about words that look like a path and send nothing. */
  notes: string[];
}

/**
 * Finds the files that a line names. A word that begins with @ and looks like no path is plain text: a name, a
 * decorator, a package.
 */
export function mentionedFiles(text: string, { folder, root }: { folder: string; root: string }): MentionedFiles {
  const files = new Set<string>();
  const notes = new Set<string>();
  for (const [, quoted, bare = ""] of text.matchAll(mention)) {
    const path = quoted ?? fileOf(bare, folder);
    const why = path === null ? whyNot(wordOf(bare), folder, false) : whyNot(path, folder, quoted !== undefined);
    if (path !== null && isFileWithin(root, resolve(folder, path))) files.add(path);
    else if (path !== null && isFile(resolve(folder, path)))
      notes.add(`@${path} is not sent: it is outside of ${root}`);
    else if (why !== null) notes.add(why);
  }
  return { files: [...files], notes: [...notes] };
}

/** A full stop or a bracket after the path belongs to the sentence, unless there is a file of that name. */
function fileOf(word: string, folder: string): string | null {
  return [word, wordOf(word)].find((path) => path !== "" && isFile(resolve(folder, path))) ?? null;
}

function wordOf(word: string): string {
  return word.replace(/[.,;:!?)\]}]+$/, "");
}

/** Says why a path sends nothing. Null if the word looks like no path. */
function whyNot(path: string, folder: string, isQuoted: boolean): string | null {
  if (path === "") return null;
  const stat = statSync(resolve(folder, path), { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return `@${path} is not sent: it is a folder; name its files`;
  const near = nearFile(path, folder);
  if (near !== null) return `@${path} is not sent: there is no such file; did you mean @${near}?`;
  return isQuoted || endsLikeFile.test(path) ? `@${path} is not sent: there is no such file` : null;
}

/** Returns the file whose name is similar, in the folder that was named. */
function nearFile(path: string, folder: string): string | null {
  const within = dirname(path);
  const typed = basename(path).toLowerCase();
  if (typed.length <= typoLettersMax) return null;
  const closeness = (name: string): number =>
    name.toLowerCase().replace(/\.[^.]+$/, "") === typed ? 0 : distance(name.toLowerCase(), typed);
  const [near] = namesIn(resolve(folder, within)).toSorted((one, other) => closeness(one) - closeness(other));
  if (near === undefined || closeness(near) > typoLettersMax) return null;
  return within === "." ? near : join(within, near);
}

function namesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  } catch {
    // There is no such folder, so no file in it has a similar name.
    return [];
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isFileWithin(root: string, path: string): boolean {
  if (!isFile(path)) return false;
  const from = relative(realpathSync(root), realpathSync(path));
  return from !== ".." && !from.startsWith(`..${sep}`) && !isAbsolute(from);
}
