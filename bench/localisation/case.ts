/** A question about a repository whose answer is known: the files and lines that were then changed. */

/** What a change touched: some code, only tests, or only documents. */
export type ChangeKind = "code" | "tests" | "docs";

export interface LocalisationCase {
  id: string;
  /** The commit whose tree is searched. */
  commit: string;
  question: string;
  kind: ChangeKind;
  /** The files to be found. */
  gold: ChangedFile[];
  /** Every file of the tree that the change touched. Tokens of other files were sent in vain. */
  touched: string[];
}

export interface ChangedFile {
  path: string;
  /** Ranges of changed lines in the tree that is searched. Both ends are included. */
  lines: [number, number][];
}

const docPath = /(?:^|\/)docs?\/|\.(?:md|mdx|rst|txt|adoc)$/i;
const testPath =
  /(?:^|\/)(?:tests?|__tests__|specs?|testing|fixtures?|testdata|e2e|playground|bench(?:marks?)?)\/|(?:^|\/)(?:test_[^/]*|conftest)\.py$|[._-](?:test|tests|spec|test-d)\.[a-z]+$|Tests?\.(?:java|kt|cs)$/i;
const codePath =
  /\.(?:[cm]?[jt]sx?|py|pyi|go|rs|java|kts?|rb|php|cs|c|cc|cpp|cxx|h|hpp|swift|scala|vue|svelte|sh|lua|ex|exs|hs|ml|dart)$/i;

export function kindOf(path: string): ChangeKind | null {
  if (docPath.test(path)) return "docs";
  if (!codePath.test(path)) return null;
  return testPath.test(path) ? "tests" : "code";
}

/** Reads a unified diff: each file of the former tree that it changes, with the changed lines. */
export function changedFiles(diff: string): ChangedFile[] {
  const files: ChangedFile[] = [];
  let file: ChangedFile | null = null;
  /** The next line of the former tree. Null: outside of a hunk. */
  let at: number | null = null;
  for (const line of diff.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/.exec(line);
    if (line.startsWith("diff --git ")) {
      file = null;
      at = null;
    } else if (hunk !== null) {
      // Without a former line, git names the one after which the new ones stand.
      at = Number(hunk[1]) + (hunk[2] === "0" ? 1 : 0);
    } else if (at === null && line.startsWith("--- a/")) {
      file = { path: line.slice(6).replace(/\t.*$/, ""), lines: [] };
      files.push(file);
    } else if (file !== null && at !== null) at = follow(file, line, at);
  }
  return files;
}

/** Reads a line of a hunk. Returns the next line of the former tree. */
function follow(file: ChangedFile, line: string, at: number): number {
  if (line.startsWith("-")) add(file, at);
  // An insertion has no line of its own in the former tree; the one before it is where it belongs.
  else if (line.startsWith("+")) add(file, Math.max(1, at - 1));
  return line.startsWith("-") || line.startsWith(" ") ? at + 1 : at;
}

function add(file: ChangedFile, line: number): void {
  const last = file.lines.at(-1);
  if (last !== undefined && line >= last[0] && line <= last[1] + 1) last[1] = Math.max(last[1], line);
  else file.lines.push([line, line]);
}
