/**
 * The files of a repository for the indexer, and those of its working copy as git tracks them (Q1): regular files of the working copy whose paths are in
 * git's index. What git ignores or has never seen is not there; submodules and symbolic links are passed over,
 * so that nothing outside the folder is ever read.
 */
import { lstatSync, realpathSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { pathFault } from "../domain/active-file.ts";
import { AptoveError } from "../domain/errors.ts";
import { askGit, type GitAnswer } from "../system/git.ts";
import { readRegularFlags } from "../system/read-files.ts";
import { systemCode } from "../system/system-error.ts";

const listingBytesMax = 1_073_741_824;

/** What is indexed: the files of a working copy, or of a commit. */
export interface RepositoryFiles {
  /** Of the folder itself, all links resolved. */
  root: string;
  /** The commit that is read, or that HEAD points to; null before the first commit. */
  commit: string | null;
  /** Relative to the root, forward slashes, sorted. */
  paths: string[];
  /** Null when there is no regular file at the path. */
  look(path: string): FileFacts | null;
  /** Null when the file is gone since it was looked at. */
  read(path: string): Promise<Uint8Array | null>;
  close(): void;
}

export interface FileFacts {
  path: string;
  sizeBytes: number;
  /** Changes whenever the file does, apart from changes within the clock's tick. */
  stamp: string;
  /** When it was last changed, by the clock of its file system; 0: it can not change. */
  changedAt: number;
}

/** Throws `repository_invalid` for a folder that is not there, or not in a git repository. */
export async function trackedFiles(folder: string, signal?: AbortSignal): Promise<RepositoryFiles> {
  const root = folderRoot(folder);
  const listing = await git(root, ["ls-files", "--cached", "--stage", "-z"], signal);
  const paths = new Set<string>();
  for (const entry of listing.split("\0")) {
    // "100644 <object> <stage>\t<path>"; 120000 is a symbolic link, 160000 a submodule.
    const [mode, path] = [entry.slice(0, 3), entry.slice(entry.indexOf("\t") + 1)];
    if (mode === "100" && pathFault(path) === null) paths.add(path);
  }
  const workingCopy = new WorkingCopy(root);
  return {
    root,
    commit: await headCommit(root, signal),
    paths: [...paths].toSorted(),
    look: (path) => workingCopy.look(path),
    read: async (path) => await workingCopy.read(path),
    close: () => undefined,
  };
}

/** The folder with all links resolved; throws `repository_invalid` where there is none. */
export function folderRoot(folder: string): string {
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) throw new AptoveError("repository_invalid", `There is no folder ${folder}.`);
  return realpathSync(folder);
}

async function headCommit(root: string, signal?: AbortSignal): Promise<string | null> {
  const output = await git(root, ["rev-parse", "--verify", "--quiet", "HEAD"], signal).catch((error: unknown) => {
    if (error instanceof AptoveError) return "";
    throw error;
  });
  return output.trim() || null;
}

/** Returns what git answers. Throws `repository_invalid`, or the signal's reason. */
export async function git(root: string, args: string[], signal?: AbortSignal): Promise<string> {
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

/** Looks at files of one working copy, and reads them. */
export class WorkingCopy {
  readonly #root: string;
  /** Folders that are what they seem: no part of their path is a link. */
  readonly #isPlain = new Map<string, boolean>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Null when there is no regular file at the path, or it is reached through a link. */
  look(path: string): FileFacts | null {
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

  /** Null when the file is gone, or has become a link, since it was looked at. */
  async read(path: string): Promise<Uint8Array | null> {
    try {
      await using file = await open(this.#locate(path), readRegularFlags);
      return await file.readFile();
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT" || code === "ELOOP" || code === "ENOTDIR") return null;
      const mend = "make it readable, or take it out of git";
      throw new AptoveError("repository_invalid", `${path} cannot be read (${code}); ${mend}.`, { cause: error });
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
