/**
 * The files of a repository for the indexer, and those of its working copy as git tracks them (Q1): regular files of the
 * working copy whose paths are in git's index. Ignored and untracked files are not listed. Submodules and symbolic links are
 * skipped, so that nothing outside the folder is ever read.
 */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { pathFault } from "../domain/active-file.ts";
import { withUnusualPath, type UnindexedFile } from "./unindexed-file.ts";
import { AptoveError } from "../domain/errors.ts";
import { headCommit } from "../system/git/git-head.ts";
import { askGit, type GitAnswer } from "../system/git/git.ts";
import { readRegularFlags } from "../system/read-files.ts";
import { systemCode } from "../system/system-error.ts";

const listingBytesMax = 1_073_741_824;

/** The files to index: those of a working copy, or of a commit. */
export interface RepositoryFiles {
  /** The path of the folder, with all links resolved. */
  root: string;
  /** The commit that is read, or to which HEAD points. Null before the first commit. */
  commit: string | null;
  /** The paths relative to the root, with forward slashes, sorted. */
  paths: string[];
  /** The other tracked files, with the reason why they are not indexed. */
  skipped: UnindexedFile[];
  /** Returns null if there is no regular file at the path. */
  stat(path: string): FileFacts | null;
  /** Returns null if the file was deleted after `look`. */
  read(path: string): Promise<Uint8Array | null>;
  close(): void;
}

export interface FileFacts {
  path: string;
  sizeBytes: number;
  /** A text that changes whenever the file does, except for changes within one tick of the clock. */
  stamp: string;
  /** The time of the last change, by the clock of the file system. 0 if the file cannot change. */
  changedAt: number;
}

/** Lists the tracked files. Throws `repository_invalid` if the folder does not exist or is not in a git repository. */
export async function trackedFiles(folder: string, signal?: AbortSignal): Promise<RepositoryFiles> {
  const root = folderRoot(folder);
  const listing = await runGit(root, ["ls-files", "--cached", "--stage", "-z"], signal);
  const workingCopy = new WorkingCopyFiles(root);
  const paths = new Set<string>();
  const unusual = new Set<string>();
  for (const entry of listing.split("\0")) {
    // "100644 <object> <stage>\t<path>"; 120000 is a symbolic link, 160000 a submodule.
    const [mode, path] = [entry.slice(0, 3), entry.slice(entry.indexOf("\t") + 1)];
    if (mode === "100") (isUsual(path, workingCopy) ? paths : unusual).add(path);
  }
  return {
    root,
    commit: await headCommit(root, signal),
    paths: [...paths].toSorted(),
    skipped: [...unusual].toSorted().map(withUnusualPath),
    stat: (path) => workingCopy.stat(path),
    read: async (path) => await workingCopy.read(path),
    close: () => undefined,
  };
}

/** A path whose bytes are not UTF-8 was read with replacements, and there is no such file. */
function isUsual(path: string, workingCopy: WorkingCopyFiles): boolean {
  if (pathFault(path) !== null) return false;
  return !path.includes("\ufffd") || workingCopy.stat(path) !== null;
}

/** Returns the folder with all links resolved. Throws `repository_invalid` if it does not exist. */
export function folderRoot(folder: string): string {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) throw new AptoveError("repository_invalid", `There is no folder ${folder}.`);
  return realpathSync(folder);
}

/** Returns the output of git. Throws `repository_invalid`, or the signal's reason. */
export async function runGit(root: string, args: string[], signal?: AbortSignal): Promise<string> {
  signal?.throwIfAborted();
  const answer = await askGit({ folder: root, args, answerBytesMax: listingBytesMax, signal });
  signal?.throwIfAborted();
  if (answer.outcome === "answered") return answer.text;
  throw new AptoveError("repository_invalid", gitFault(root, answer));
}

function gitFault(root: string, answer: Exclude<GitAnswer, { outcome: "answered" }>): string {
  if (answer.outcome === "missing") return "git is not on the path; install it, because git lists the files to index.";
  if (answer.reason.includes("not a git repository")) {
    return `${root} is not in a git repository, and git lists the files to index; run \`git init\` and \`git add\` there.`;
  }
  return `git could not read ${root}: ${answer.reason}`;
}

/** Checks and reads files of one working copy. */
export class WorkingCopyFiles {
  readonly #root: string;
  /** Remembers, by folder, whether no part of its path is a link. */
  readonly #isPlain = new Map<string, boolean>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Returns null if there is no regular file at the path, or if it is reached through a link. */
  stat(path: string): FileFacts | null {
    const file = this.#locate(path);
    if (!this.#isPlainFolder(dirname(file))) return null;
    const stats = lstatSync(file, { bigint: true, throwIfNoEntry: false });
    if (stats?.isFile() !== true) return null;
    return {
      path,
      sizeBytes: Number(stats.size),
      stamp: `${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
      changedAt: Math.max(Number(stats.mtimeMs), Number(stats.ctimeMs)),
    };
  }

  /** Returns null if the file was deleted, or became a link, after `look`. */
  async read(path: string): Promise<Uint8Array | null> {
    try {
      await using file = await open(this.#locate(path), readRegularFlags);
      return await file.readFile();
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT" || code === "ELOOP" || code === "ENOTDIR") return null;
      const fix = "make it readable, or remove it from git";
      throw new AptoveError("repository_invalid", `${path} cannot be read (${code}); ${fix}.`, { cause: error });
    }
  }

  #locate(path: string): string {
    return join(this.#root, ...path.split("/"));
  }

  #isPlainFolder(folder: string): boolean {
    let isPlain = this.#isPlain.get(folder);
    if (isPlain === undefined) {
      isPlain = folder === this.#root || (folder.startsWith(this.#root + sep) && resolves(folder));
      this.#isPlain.set(folder, isPlain);
    }
    return isPlain;
  }
}

function resolves(folder: string): boolean {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats !== undefined && realpathSync(folder) === folder;
}
