/**
 * Finds the repository that a folder is in, without git and without believing what the repository says about itself. An
 * archive from a stranger can contain a repository whose parts point at another repository of the person: a link, a
 * shared folder, borrowed objects, another working tree. Such a repository is refused, because what is read from it would
 * be the other one's code.
 *
 * It is asked with every prompt, about a few entries in the page cache: each takes microseconds here, and more than ten
 * times that on another thread.
 */
import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { silenceOf } from "./git-silence.ts";
import { readRegularFlags } from "../read-files.ts";
import { nullIfAbsent, systemCode } from "../system-error.ts";

/** `none`: no folder above has a repository. `refused`: there is one, and it is not asked anything. */
export type RepositoryPlace =
  | { outcome: "found"; root: string }
  | { outcome: "none" }
  | { outcome: "refused"; reason: string };

/** Folders of a repository in which no entry may be a link. Their entries are few, or they have the objects. */
const foldersWithoutLinks: readonly string[] = [".", "objects", join("objects", "info"), join("objects", "pack")];

/** The largest file of a repository that is read here. Most have one line. */
const pointerBytesMax = 1_048_576;

/** Finds the repository around a folder. Never throws. */
export function locateRepository(folder: string): RepositoryPlace {
  try {
    const start = realpathSync.native(folder);
    if (start.split(sep).includes(".git")) return refused("it is inside a folder of git");
    for (let at = start; ; at = dirname(at)) {
      const git = join(at, ".git");
      const stats = statsOf(git);
      if (stats !== null) return placeAt(at, git, stats) ?? found(at);
      if (at === dirname(at)) return { outcome: "none" };
    }
  } catch (error) {
    return refused(`its repository cannot be read (${systemCode(error) || String(error)})`);
  }
}

/** The repository in a folder, unless it has made git wait before. */
function found(root: string): RepositoryPlace {
  const silence = silenceOf(root);
  return silence === null ? { outcome: "found", root } : refused(silence);
}

function refused(reason: string): RepositoryPlace {
  return { outcome: "refused", reason };
}

function statsOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

function realPathOf(path: string): string | null {
  return nullIfAbsent(() => realpathSync.native(path));
}

/** Checks the repository of one folder. Null if it stands for itself. */
function placeAt(
  root: string,
  git: string,
  stats: { isDirectory(): boolean; isFile(): boolean },
): RepositoryPlace | null {
  if (stats.isDirectory()) return faultOf(git, { isShared: false });
  if (!stats.isFile()) return refused(`${git} is a link`);
  const target = /^gitdir: (.+?)\r?\n?$/.exec(pointer(git) ?? "")?.[1];
  const real = target === undefined ? null : realPathOf(resolve(root, target));
  if (real === null) return refused(`${git} names no repository`);
  const common = commonFolder(real);
  if (common === null) return ownsFolder(real, root) ? faultOf(real, { isShared: false }) : notIts(git);
  if (!isWorktreeOf(common, real, git)) return notIts(git);
  return linkIn(real) ?? faultOf(common, { isShared: true });
}

function notIts(git: string): RepositoryPlace {
  const fix = 'if it is yours, run `git config core.worktree "$PWD"` beside that file';
  return refused(`${git} names a repository that does not know this folder; ${fix}`);
}

/** The folder whose objects and branches a linked working tree shares. Null if it shares none. */
function commonFolder(git: string): string | null {
  const named = pointer(join(git, "commondir"))?.trimEnd();
  return named === undefined ? null : realpathSync.native(resolve(git, named));
}

/** True if the shared repository itself lists this working tree. */
function isWorktreeOf(common: string, git: string, pointerFile: string): boolean {
  if (dirname(dirname(git)) !== common || basename(dirname(git)) !== "worktrees") return false;
  const named = pointer(join(git, "gitdir"))?.trimEnd() ?? "";
  return isSamePlace(resolve(git, named), pointerFile);
}

/** True if a separate repository, as that of a submodule, says that its files are in this folder. */
function ownsFolder(git: string, root: string): boolean {
  if (git.startsWith(root + sep)) return true;
  const text = pointer(join(git, "config")) ?? "";
  const named = /^\s*worktree\s*=\s*"?([^"\r\n]*?)"?\s*$/m.exec(text)?.[1];
  return named !== undefined && isSamePlace(resolve(git, named), root);
}

function isSamePlace(one: string, other: string): boolean {
  const [first, second] = [one, other].map(realPathOf);
  return first !== null && first === second;
}

/** Checks that everything that is read from a repository is in its folder. Null if it is. */
function faultOf(git: string, { isShared }: { isShared: boolean }): RepositoryPlace | null {
  for (const name of foldersWithoutLinks) {
    const link = linkIn(join(git, name));
    if (link !== null) return link;
  }
  if (!isShared && pointer(join(git, "commondir")) !== undefined) {
    return refused(`${git} says that it shares another repository`);
  }
  for (const name of pointer(join(git, "objects", "info", "alternates"))?.split("\n") ?? []) {
    if (name === "" || name.startsWith("#")) continue;
    const fix = "copy them with `git repack -a -d`, then delete the file objects/info/alternates";
    if (!isBelow(git, join(git, "objects"), name)) return refused(`${git} borrows the objects of ${name}; ${fix}`);
  }
  const branch = /^ref: (.+?)\s*$/.exec(pointer(join(git, "HEAD")) ?? "")?.[1];
  const isOwn = branch === undefined || isBelow(git, git, branch);
  return isOwn ? null : refused(`the branch of ${git} is a link`);
}

/** True if the path, with all its links resolved, is below a folder, or if there is nothing at the path. */
function isBelow(folder: string, base: string, path: string): boolean {
  const full = isAbsolute(path) ? path : join(base, path);
  const real = realPathOf(full);
  return real === null ? full.startsWith(folder + sep) : real.startsWith(realpathSync.native(folder) + sep);
}

/** Refuses a folder with a link in it. */
function linkIn(folder: string): RepositoryPlace | null {
  const entries = nullIfAbsent(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  const link = entries.find((entry) => entry.isSymbolicLink());
  return link === undefined ? null : refused(`${join(folder, link.name)} is a link`);
}

/** A file that a repository never has: it is not regular, or too long. */
class UnusualFile extends Error {
  constructor(path: string) {
    super(`${path} is no small file`);
  }
}

/** The text of a small file. Undefined if there is none. Throws an `UnusualFile`. */
function pointer(path: string): string | undefined {
  const stats = statsOf(path);
  if (stats === null) return undefined;
  const isUsual = stats.isFile() && stats.size <= pointerBytesMax;
  if (!isUsual) throw new UnusualFile(path);
  // A file that was replaced by a pipe meanwhile does not make this process wait.
  return readFileSync(path, { encoding: "utf8", flag: readRegularFlags });
}
