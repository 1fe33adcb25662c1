/**
 * Lists the files below a folder that belong to the work: in a repository, those that git tracks or would add; elsewhere,
 * all except folders that programs generate. A folder that git ignores is listed if the call names it. Links are not
 * followed, so nothing outside is listed. The number of files and the time are bounded.
 */
import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../domain/limits.ts";
import { askGit, streamGit } from "../../system/git/git.ts";
import { systemCode } from "../../system/system-error.ts";

export interface FileListing {
  /** Paths relative to the folder, with forward slashes, sorted by code units. */
  paths: string[];
  /** True if the limit of files or of time was reached, so there may be more. */
  isCut: boolean;
}

export interface ListingBounds {
  /** Returns true if a file or folder is open, by its path. A closed folder is skipped with all its content. */
  isOpen?(path: string): boolean;
  filesMax?: number;
  timeMs?: number;
}

/** Lists the files of a folder, which is an absolute path with links resolved. Rejects if the signal aborts. */
export async function listFiles(folder: string, signal: AbortSignal, bounds: ListingBounds = {}): Promise<FileListing> {
  const { isOpen = () => true, filesMax = limits.listedFilesMax, timeMs = limits.listMs } = bounds;
  const run = new ListingRun({ isOpen, filesMax, signal: AbortSignal.any([signal, AbortSignal.timeout(timeMs)]) });
  await run.listFolder(folder, "");
  signal.throwIfAborted();
  return { paths: [...run.found].toSorted(), isCut: run.isCut };
}

/** Folders that programs generate. They are left out where git cannot name the ignored files. */
const madeFolders = new Set([".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"]);
const foldersAtOnce = 16;

class ListingRun {
  readonly found = new Set<string>();
  isCut = false;
  readonly #isOpen: (path: string) => boolean;
  readonly #filesMax: number;
  readonly #signal: AbortSignal;

  constructor({ isOpen, filesMax, signal }: Required<Omit<ListingBounds, "timeMs">> & { signal: AbortSignal }) {
    this.#isOpen = isOpen;
    this.#filesMax = filesMax;
    this.#signal = signal;
  }

  /** Lists one folder. Its paths begin with the prefix, which is empty or ends with a slash. */
  async listFolder(folder: string, prefix: string): Promise<void> {
    if (this.#isOver() || !this.#isOpen(prefix)) return;
    const nested = await this.#gitFiles(folder, prefix);
    // There is no repository, or git ignores this folder of it.
    if (nested === null || !(await this.#listNested(folder, prefix, nested))) await this.#walk(folder, prefix);
  }

  async #listNested(folder: string, prefix: string, { any, repositories }: GitFiles): Promise<boolean> {
    for (const path of repositories) await this.listFolder(join(folder, path), `${prefix}${path}/`);
    return any;
  }

  async #walk(folder: string, prefix: string): Promise<void> {
    let level = [{ folder, prefix }];
    while (level.length > 0 && !this.#isOver()) {
      const batch = level.slice(0, foldersAtOnce);
      const deeper = await Promise.all(batch.map((each) => this.#look(each, each.folder === folder)));
      level = [...level.slice(foldersAtOnce), ...deeper.flat()];
    }
  }

  async #look({ folder, prefix }: Below, isTop: boolean): Promise<Below[]> {
    const entries = await entriesOf(folder, this.#filesMax);
    if (!isTop && entries.some(({ name }) => name === ".git")) {
      await this.listFolder(folder, prefix);
      return [];
    }
    for (const entry of entries) if (entry.isFile() || entry.isSymbolicLink()) this.#add(prefix + entry.name);
    if (entries.length > this.#filesMax) this.isCut = true;
    return entries
      .filter((entry) => entry.isDirectory() && !madeFolders.has(entry.name))
      .map(({ name }) => ({ folder: join(folder, name), prefix: `${prefix}${name}/` }))
      .filter((below) => this.#isOpen(below.prefix));
  }

  /** Lists the files that git knows. Null if there is no git, or the folder is in no repository. */
  async #gitFiles(folder: string, prefix: string): Promise<GitFiles | null> {
    if (!(await isInWorkingCopy(folder, this.#signal))) return null;
    const gone: string[] = [];
    const repositories: string[] = [];
    let any = false;
    const isRepository = await gitEntries(folder, this.#signal, (entry) => {
      if (this.#isOver()) return false;
      const { tag, mode, path } = parsedEntry(entry);
      // A submodule that was never fetched lists itself.
      if (path === "./" || path === "") return true;
      if (path.endsWith("/") || mode === "160000") repositories.push(path.replace(/\/$/, ""));
      // R: deleted from the disk. S: left out by a sparse checkout.
      else if (tag === "R" || tag === "S") gone.push(path);
      else if (!path.startsWith("../")) this.#add(prefix + path);
      any = true;
      return true;
    });
    for (const path of gone) this.found.delete(prefix + path);
    return isRepository ? { any, repositories: [...new Set(repositories)] } : null;
  }

  #add(path: string): void {
    if (!this.#isOpen(path)) return;
    if (this.found.size >= this.#filesMax && !this.found.has(path)) this.isCut = true;
    else this.found.add(path);
  }

  #isOver(): boolean {
    if (this.#signal.aborted) this.isCut = true;
    return this.isCut;
  }
}

interface Below {
  folder: string;
  prefix: string;
}

interface GitFiles {
  any: boolean;
  repositories: string[];
}

const skippedErrors: readonly string[] = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG"];

/** Reads at most one entry more than the limit, because a folder may have more entries than memory can hold. */
async function entriesOf(folder: string, entriesMax: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: 512 })) {
      if (entries.push(entry) > entriesMax) break;
    }
  } catch (error) {
    // It was deleted in the meantime, may not be read, or its path is too long.
    if (!skippedErrors.includes(systemCode(error))) throw error;
  }
  return entries;
}

/** Parses an entry of `git ls-files`: "H 100644 <object> <stage>\t<path>" for a tracked file, "? <path>" for one that git would add. */
function parsedEntry(entry: string): { tag: string; mode: string; path: string } {
  const tag = entry.slice(0, 1);
  if (tag === "?") return { tag, mode: "", path: entry.slice(2) };
  return { tag, mode: entry.slice(2, 8), path: entry.slice(entry.indexOf("\t") + 1) };
}

const gitArguments = ["ls-files", "-z", "-t", "--stage", "--cached", "--others", "--deleted", "--exclude-standard"];

/** A repository may name another folder for its files. What is there is not in this folder. */
async function isInWorkingCopy(folder: string, signal: AbortSignal): Promise<boolean> {
  const args = ["rev-parse", "--is-inside-work-tree"];
  const answer = await askGit({ folder, args, answerBytesMax: 1_024, signal });
  return answer.outcome === "answered" && answer.text.trim() === "true";
}

/** Passes each entry to `take` until it returns false. Resolves to false if git could not answer. */
function gitEntries(folder: string, signal: AbortSignal, take: (entry: string) => boolean): Promise<boolean> {
  let rest = "";
  const onText = (text: string): boolean => {
    const entries = (rest + text).split("\0");
    rest = entries.pop() ?? "";
    return entries.every((entry) => take(entry));
  };
  return streamGit({ folder, args: gitArguments, signal, onText });
}
