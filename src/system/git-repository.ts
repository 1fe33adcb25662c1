/**
 * Finds the repository that a folder is in, without git and without believing what the repository says about itself. An
 * archive from a stranger can contain a repository whose parts point at another repository of the person: a link, a
 * shared folder, borrowed objects, another working tree. Such a repository is refused, because what is read from it would
 * be the other one's code.
 */
import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { isAbsence, systemCode } from "./system-error.ts";

/** `none`: no folder above has a repository. `refused`: there is one, and it is not asked anything. */
export type RepositoryPlace =
  | { outcome: "found"; root: string }
  | { outcome: "none" }
  | { outcome: "refused"; reason: string };

/** Folders of a repository in which no entry may be a link. Their entries are few, or they have the objects. */
const foldersWithoutLinks: readonly string[] = [".", "objects", join("objects", "info"), join("objects", "pack")];

/** The largest file of a repository that is read here. Most have one line. */
const pointerBytesMax = 1_048_576;

/** Finds the repository around a folder. Never rejects. */
export async function locateRepository(folder: string): Promise<RepositoryPlace> {
  try {
    const start = await realpath(folder);
    if (start.split(sep).includes(".git")) return refused("it is inside a folder of git");
    for (let at = start; ; at = dirname(at)) {
      const git = join(at, ".git");
      const stats = await lstat(git).catch(absent);
      if (stats !== null) return (await placeAt(at, git, stats)) ?? { outcome: "found", root: at };
      if (at === dirname(at)) return { outcome: "none" };
    }
  } catch (error) {
    return refused(`its repository cannot be read (${systemCode(error) || String(error)})`);
  }
}

function refused(reason: string): RepositoryPlace {
  return { outcome: "refused", reason };
}

function absent(error: unknown): null {
  if (isAbsence(error)) return null;
  throw error;
}

/** Checks the repository of one folder. Null if it stands for itself. */
async function placeAt(
  root: string,
  git: string,
  stats: { isDirectory(): boolean; isFile(): boolean },
): Promise<RepositoryPlace | null> {
  if (stats.isDirectory()) return await faultOf(git, { isShared: false });
  if (!stats.isFile()) return refused(`${git} is a link`);
  const target = /^gitdir: (.+?)\r?\n?$/.exec((await pointer(git)) ?? "")?.[1];
  const real = target === undefined ? null : await realpath(resolve(root, target)).catch(absent);
  if (real === null) return refused(`${git} names no repository`);
  const common = await commonFolder(real);
  if (common === null) return (await ownsFolder(real, root)) ? await faultOf(real, { isShared: false }) : notIts(git);
  if (!(await isWorktreeOf(common, real, git))) return notIts(git);
  return (await linkIn(real)) ?? (await faultOf(common, { isShared: true }));
}

function notIts(git: string): RepositoryPlace {
  const fix = 'if it is yours, run `git config core.worktree "$PWD"` beside that file';
  return refused(`${git} names a repository that does not know this folder; ${fix}`);
}

/** The folder whose objects and branches a linked working tree shares. Null if it shares none. */
async function commonFolder(git: string): Promise<string | null> {
  const named = (await pointer(join(git, "commondir")))?.trimEnd();
  return named === undefined ? null : await realpath(resolve(git, named));
}

/** True if the shared repository itself lists this working tree. */
async function isWorktreeOf(common: string, git: string, pointerFile: string): Promise<boolean> {
  if (dirname(dirname(git)) !== common || basename(dirname(git)) !== "worktrees") return false;
  const named = (await pointer(join(git, "gitdir")))?.trimEnd() ?? "";
  return isSamePlace(resolve(git, named), pointerFile);
}

/** True if a separate repository, as that of a submodule, says that its files are in this folder. */
async function ownsFolder(git: string, root: string): Promise<boolean> {
  if (git.startsWith(root + sep)) return true;
  const text = (await pointer(join(git, "config"))) ?? "";
  const named = /^\s*worktree\s*=\s*"?([^"\r\n]*?)"?\s*$/m.exec(text)?.[1];
  return named !== undefined && (await isSamePlace(resolve(git, named), root));
}

async function isSamePlace(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => realpath(path).catch(absent)));
  return first !== null && first === second;
}

/** Checks that everything that is read from a repository is in its folder. Null if it is. */
async function faultOf(git: string, { isShared }: { isShared: boolean }): Promise<RepositoryPlace | null> {
  for (const name of foldersWithoutLinks) {
    const link = await linkIn(join(git, name));
    if (link !== null) return link;
  }
  if (!isShared && (await pointer(join(git, "commondir"))) !== undefined) {
    return refused(`${git} says that it shares another repository`);
  }
  for (const name of (await pointer(join(git, "objects", "info", "alternates")))?.split("\n") ?? []) {
    if (name === "" || name.startsWith("#")) continue;
    const fix = "copy them with `git repack -a -d`, then delete the file objects/info/alternates";
    if (!(await isBelow(git, join(git, "objects"), name)))
      return refused(`${git} borrows the objects of ${name}; ${fix}`);
  }
  const branch = /^ref: (.+?)\s*$/.exec((await pointer(join(git, "HEAD"))) ?? "")?.[1];
  const isOwn = branch === undefined || (await isBelow(git, git, branch));
  return isOwn ? null : refused(`the branch of ${git} is a link`);
}

/** True if the path, with all its links resolved, is below a folder, or if there is nothing at the path. */
async function isBelow(folder: string, base: string, path: string): Promise<boolean> {
  const full = isAbsolute(path) ? path : join(base, path);
  const real = await realpath(full).catch(absent);
  return real === null ? full.startsWith(folder + sep) : real.startsWith((await realpath(folder)) + sep);
}

/** Refuses a folder with a link in it. */
async function linkIn(folder: string): Promise<RepositoryPlace | null> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(absent)) ?? [];
  const link = entries.find((entry) => entry.isSymbolicLink());
  return link === undefined ? null : refused(`${join(folder, link.name)} is a link`);
}

/** The text of a small file. Undefined if there is none. Rejects if it is not a regular file, or is too long. */
async function pointer(path: string): Promise<string | undefined> {
  const stats = await lstat(path).catch(absent);
  if (stats === null) return undefined;
  const isUsual = stats.isFile() && stats.size <= pointerBytesMax;
  return isUsual ? await readFile(path, "utf8") : await Promise.reject(new Error(`${path} is no small file`));
}
