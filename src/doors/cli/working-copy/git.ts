/** What git reports about the working copy: its top folder, the name of the repository, the modified files. */
import { basename } from "node:path";
import { askGit } from "../../../system/git.ts";

const answerBytesMax = 64 * 1_048_576;

export interface LocalWorkingCopy {
  /** The absolute path of the top folder. */
  root: string;
  /** The name under which the repository is indexed and its sessions are listed. */
  repo: string;
  hasGit: boolean;
}

/** Runs git and returns its output. Null if git is missing or fails. */
async function git(root: string, args: string[]): Promise<string | null> {
  const answer = await askGit({ folder: root, args, answerBytesMax });
  return answer.outcome === "answered" ? answer.text : null;
}

/** Finds the working copy around a folder. Outside of git it is the folder itself. */
export async function findWorkingCopy(cwd: string): Promise<LocalWorkingCopy> {
  const [top, origin] = await Promise.all([
    git(cwd, ["rev-parse", "--show-toplevel"]),
    git(cwd, ["config", "--get", "remote.origin.url"]),
  ]);
  const root = top?.replace(/\r?\n$/, "") || cwd;
  return { root, repo: repoName(origin?.trim() ?? "", root), hasGit: top !== null };
}

/**
 * Returns `owner/name` of the origin, so that all clones share sessions and index. Without an origin: the folder's
 * name.
 */
export function repoName(origin: string, root: string): string {
  const path = /^[a-z+]+:\/\/[^/]+\/(.+)$/i.exec(origin)?.[1] ?? /^[^/\\:]+@[^/:]+:(.+)$/.exec(origin)?.[1];
  const isLocal = path === undefined || origin.startsWith("file:");
  const name = isLocal
    ? basename(root)
    : path
        .replace(/\/+$/, "")
        .replace(/\.git$/, "")
        .split("/")
        .slice(-2)
        .join("/");
  return name === "" ? "repository" : name;
}

/** Returns the id of the checked-out commit. Null before the first commit, and outside of git. */
export async function headCommit(root: string): Promise<string | null> {
  return (await git(root, ["rev-parse", "--verify", "--quiet", "HEAD"]))?.trim() || null;
}

/**
 * Returns the tracked files that differ from the last commit, staged or not, relative to the top folder. Removed files
 * are left out.
 */
export async function modifiedFiles(root: string): Promise<string[]> {
  const listed = await git(root, ["diff", "HEAD", "--name-only", "-z", "--diff-filter=d", "--no-renames"]);
  return (listed ?? "").split("\0").filter((path) => path !== "");
}

export interface RemovedFile {
  path: string;
  /** The new path of a file that was renamed. */
  renamedTo: string | null;
}

/**
 * Returns the files of the last commit that the working copy does not have any more, relative to the top folder. Only a rename
 * that git has in its index is known as one: to find others, git would read files of the working copy.
 */
export async function removedFiles(root: string): Promise<RemovedFile[]> {
  const [removed, renamed] = await Promise.all([
    git(root, ["diff-index", "--name-only", "-z", "--diff-filter=D", "--no-renames", "HEAD"]),
    git(root, ["diff-index", "--cached", "--name-status", "-z", "--diff-filter=R", "--find-renames", "HEAD"]),
  ]);
  // "R100", the old path and the new one, each ended by a NUL.
  const fields = (renamed ?? "").split("\0");
  const newPaths = new Map<string, string>();
  for (let at = 0; at + 2 < fields.length; at += 3) newPaths.set(fields[at + 1] ?? "", fields[at + 2] ?? "");
  const paths = (removed ?? "").split("\0").filter((path) => path !== "");
  return paths.map((path) => ({ path, renamedTo: newPaths.get(path) ?? null }));
}
