/** What git reports about the working copy: its top folder, the name of the repository, the modified files. */
import { readFileSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { Millis } from "../domain/ids.ts";
import { locateRepository } from "../system/git/git-repository.ts";
import { askGit } from "../system/git/git.ts";
import { readRegularFlags } from "../system/read-files.ts";
import { hostedName, placeName } from "./repository-name.ts";

const answerBytesMax = 64 * 1_048_576;

export interface LocalWorkingCopy {
  /** The absolute path of the top folder. */
  root: string;
  /** The name under which the repository is indexed and its sessions are listed. */
  repo: string;
  hasGit: boolean;
  /** Why git answers nothing about a repository that is there. Null if there is none, or if it answers. */
  refusal: string | null;
}

/** Runs git and returns its output. Null if git is missing or fails. */
async function git(root: string, args: string[]): Promise<string | null> {
  const answer = await askGit({ folder: root, args, answerBytesMax });
  return answer.outcome === "answered" ? answer.text : null;
}

/** Finds the working copy around a folder. Outside of git it is the folder itself. */
export async function findWorkingCopy(cwd: string): Promise<LocalWorkingCopy> {
  const [folders, origin] = await Promise.all([foldersOf(cwd), git(cwd, ["config", "--get", "remote.origin.url"])]);
  // Afterwards: a repository about which git says nothing is refused.
  const place = locateRepository(cwd);
  const root = folders?.top ?? cwd;
  const refusal = place.outcome === "refused" ? place.reason : null;
  return {
    root,
    repo: hostedName(origin?.trim() ?? "") ?? (await nameOfPlace(root, folders)),
    hasGit: folders !== null,
    refusal:
      place.outcome === "found" && folders === null && (await isGitMissing(cwd))
        ? "git is not on the path; install it"
        : refusal,
  };
}

async function isGitMissing(cwd: string): Promise<boolean> {
  const { outcome } = await askGit({ folder: cwd, args: ["rev-parse", "--git-dir"], answerBytesMax });
  return outcome === "missing";
}

interface GitFolders {
  /** The absolute path of the top folder. */
  top: string;
  /** The folder of git that linked working copies share. */
  common: string;
}

/** Returns the folders of the working copy. Null outside of git. */
async function foldersOf(cwd: string): Promise<GitFolders | null> {
  const names = ["--show-toplevel", "--git-common-dir"] as const;
  const lines = (await git(cwd, ["rev-parse", ...names]))?.split(/\r?\n/);
  if (lines === undefined) return null;
  // One line for each and an end, unless a path contains a line break. Then each is asked by itself.
  const [top, common] =
    lines.length === 3
      ? lines
      : await Promise.all(names.map(async (name) => (await git(cwd, ["rev-parse", name]))?.replace(/\r?\n$/, "")));
  return top ? { top, common: resolve(cwd, common || ".git") } : null;
}

/**
 * Returns the name of a folder without a hosted origin. Its linked working copies have one place, and a repository that was
 * deleted and made again there has another root commit.
 */
async function nameOfPlace(root: string, folders: GitFolders | null): Promise<string> {
  if (folders === null) return placeName(root, null);
  const roots = await git(root, ["rev-list", "--max-parents=0", "--all"]);
  const { common } = folders;
  // The oldest root is the last one. Another branch may have begun without a parent later.
  return placeName(basename(common) === ".git" ? dirname(common) : common, roots?.trim().split("\n").at(-1) ?? "");
}

export interface RemovedFile {
  path: string;
  /** The new path of a file that was renamed. */
  renamedTo: string | null;
}

/** What differs from the last commit. Paths are relative to the top folder. Submodules are left out. */
export interface Changes {
  /** The files whose content or mode differs, staged or not. */
  modified: string[];
  /** The files that the working copy does not have any more. */
  removed: RemovedFile[];
}

/** A difference of one path, as `git diff-index --raw` writes it. */
interface RawChange {
  path: string;
  /** What the last commit has. */
  object: string;
  isRemoved: boolean;
  /** True if only the time or the place of the file differs for certain. Then its content decides. */
  isDoubtful: boolean;
}

/**
 * Returns what differs from the last commit. Null before the first commit, and outside of git. `git diff` and `git status`
 * would also write git's index, which can run hooks, so this asks for what may differ and compares the contents.
 */
export async function changesOf(root: string): Promise<Changes | null> {
  const options = ["--raw", "--no-abbrev", "-z", "--no-renames", "--ignore-submodules=all"];
  const listed = await git(root, ["diff-index", ...options, "HEAD"]);
  if (listed === null) return null;
  const [gone, present] = partition(rawChanges(listed), ({ isRemoved }) => isRemoved);
  const [modified, removed] = await Promise.all([reallyModified(root, present), withNewPaths(root, gone)]);
  return { modified, removed };
}

function partition<T>(items: Iterable<T>, isFirst: (item: T) => boolean): [T[], T[]] {
  const parts: [T[], T[]] = [[], []];
  for (const item of items) parts[isFirst(item) ? 0 : 1].push(item);
  return parts;
}

/** Parses ":100644 100644 <object> <object or zeros> M", each followed by its path. */
function* rawChanges(text: string): Generator<RawChange> {
  const fields = text.split("\0");
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const path = fields[at + 1] ?? "";
    const [, before = "", after = "", object = "", hash = "", kind = ""] =
      /^:(\d+) (\d+) (\w+) (\w+) (\w)/.exec(fields[at] ?? "") ?? [];
    const isSameKind = before === after && before.startsWith("100");
    // The paths are given to git line by line, and a quotation mark at the beginning has a meaning there.
    const isDoubtful = isSameKind && /^0+$/.test(hash) && !/^"|\n/.test(path);
    yield { path, object, isRemoved: kind === "D", isDoubtful };
  }
}

async function reallyModified(root: string, changes: readonly RawChange[]): Promise<string[]> {
  const doubtful = changes.filter(({ isDoubtful }) => isDoubtful);
  const hashes = doubtful.length === 0 ? [] : await contentHashes(root, doubtful);
  const same = new Set(doubtful.filter(({ object }, at) => hashes[at] === object).map(({ path }) => path));
  return [...new Set(changes.map(({ path }) => path))].filter((path) => !same.has(path));
}

/**
 * Returns those of the files that have the content, byte for byte, that they had in the commit that was checked out at this time.
 * Paths are relative to the top folder. Empty if git does not remember the time.
 */
export async function asCommittedAt(root: string, paths: readonly string[], at: Millis): Promise<Set<string>> {
  const commit = await checkedOutAt(root, at);
  const listed = commit === null ? null : await git(root, ["ls-tree", "-z", commit, "--", ...paths]);
  // "100644 blob <object>", a tab and the path. The paths are given to git line by line.
  const files = (listed ?? "").split("\0").flatMap((entry) => {
    const [, object = "", path = ""] = /^100\d+ blob (\w+)\t([^"\n][^\n]*)$/.exec(entry) ?? [];
    return object === "" ? [] : { object, path };
  });
  const hashes = files.length === 0 ? [] : await contentHashes(root, files);
  return new Set(files.filter(({ object }, n) => hashes[n] === object).map(({ path }) => path));
}

/** Returns the commit that was checked out at this time. Null if git does not remember that. */
async function checkedOutAt(root: string, at: Millis): Promise<string | null> {
  const path = (await git(root, ["rev-parse", "--git-path", "logs/HEAD"]))?.replace(/\r?\n$/, "");
  const moves = (path && readRegular(resolve(root, path))) || "";
  // The commits before and after, who made the move, and the seconds; the oldest first.
  const lines = [...moves.matchAll(/^\w+ (\w+) .*> (\d+) [+-]\d{4}(?:\t|$)/gm)];
  return lines.findLast(([, , seconds]) => Number(seconds) * 1_000 <= at)?.[1] ?? null;
}

/** Returns the text of a regular file. Null if there is none, or if it cannot be read. */
function readRegular(path: string): string | null {
  try {
    return readFileSync(path, { encoding: "utf8", flag: readRegularFlags });
  } catch {
    return null;
  }
}

/** Returns the ids that git would give to the contents of files. Empty if one of them cannot be read. */
async function contentHashes(root: string, files: readonly { path: string }[]): Promise<string[]> {
  const input = files.map(({ path }) => `${path}\n`).join("");
  const answer = await askGit({ folder: root, args: ["hash-object", "--stdin-paths"], answerBytesMax, input });
  return answer.outcome === "answered" ? answer.text.split("\n") : [];
}

/**
 * Finds where removed files are now. Only a rename that git has in its index is known as one: to find others, git would read
 * files of the working copy.
 */
async function withNewPaths(root: string, removed: readonly RawChange[]): Promise<RemovedFile[]> {
  if (removed.length === 0) return [];
  const options = ["--cached", "--name-status", "-z", "--diff-filter=R", "--find-renames"];
  const renamed = await git(root, ["diff-index", ...options, "HEAD"]);
  // "R100", the old path and the new one, each ended by a NUL.
  const fields = (renamed ?? "").split("\0");
  const newPaths = new Map<string, string>();
  for (let at = 0; at + 2 < fields.length; at += 3) newPaths.set(fields[at + 1] ?? "", fields[at + 2] ?? "");
  return removed.map(({ path }) => ({ path, renamedTo: newPaths.get(path) ?? null }));
}
