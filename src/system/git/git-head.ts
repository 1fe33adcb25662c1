/**
 * Reads what a repository has checked out from its own files: a prompt asks it each time, and starting git for it costs more
 * than all else that is asked about its folder. It reads only the usual form, and leaves everything else to git.
 */
import { closeSync, fstatSync, lstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { locateRepository } from "./git-repository.ts";
import { askGit } from "./git.ts";
import { readRegularFlags } from "../read-files.ts";

export interface CheckedOut {
  /** Null: a commit is checked out, and no branch. */
  branch: string | null;
  commit: string;
}

/** Files of this kind have one line. */
const lineBytesMax = 4_096;

/**
 * Returns the id of the commit that is checked out around a folder. Null before the first commit, outside of git, and if git
 * cannot say it. Rejects with the reason of the signal.
 */
export async function headCommit(folder: string, signal?: AbortSignal): Promise<string | null> {
  const place = locateRepository(folder);
  const read = place.outcome === "found" ? checkedOut(place.root) : null;
  if (read !== null) return read.commit;
  const args = ["rev-parse", "--verify", "--quiet", "HEAD"];
  const answer = await askGit({ folder, args, answerBytesMax: lineBytesMax, signal });
  signal?.throwIfAborted();
  return (answer.outcome === "answered" && answer.text.trim()) || null;
}

/**
 * Returns what is checked out in a repository that `locateRepository` found. Null if git has to say it: there is no commit yet,
 * the branch is packed, the working tree is linked, or the repository belongs to another user.
 */
export function checkedOut(root: string): CheckedOut | null {
  try {
    const git = join(root, ".git");
    const stats = lstatSync(git);
    if (!stats.isDirectory() || (process.getuid !== undefined && stats.uid !== process.getuid())) return null;
    const head = lineOf(join(git, "HEAD"));
    if (isCommit(head)) return { branch: null, commit: head };
    const branch = /^ref: refs\/heads\/([^\\]+)$/.exec(head)?.[1];
    if (branch === undefined || branch.split("/").some((part) => part === "" || part.startsWith("."))) return null;
    const commit = lineOf(join(git, "refs", "heads", branch));
    return isCommit(commit) ? { branch, commit } : null;
  } catch {
    // What cannot be read here is for git to explain.
    return null;
  }
}

function isCommit(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}

/** Returns the text of a small regular file without the line break at its end. Empty if it is another kind of file. */
function lineOf(path: string): string {
  const file = openSync(path, readRegularFlags);
  try {
    const stats = fstatSync(file);
    return stats.isFile() && stats.size <= lineBytesMax ? readFileSync(file, "utf8").replace(/\r?\n$/, "") : "";
  } finally {
    closeSync(file);
  }
}
