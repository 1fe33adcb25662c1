/**
 * The files below a folder that belong to the work: what git tracks or would take, where there is git; else all but
 * what programs fill by themselves. A folder that git ignores is listed when it is asked for by name. Links are not
 * followed, so nothing outside is listed. It is bounded in files and in time.
 */
import type { Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { limits } from "../../domain/limits.ts";
import { askGit, streamGit } from "../../system/git.ts";
import { systemCode } from "../../system/system-error.ts";

export interface Listing {
  /** Relative to the folder, forward slashes, sorted by their code units. */
  paths: string[];
  /** There is more: the bound in files or in time was reached. */
  isCut: boolean;
}

export interface ListingBounds {
  /** Of a file or a folder, by its path; what is not open is passed over with all that is in it. */
  isOpen?(path: string): boolean;
  filesMax?: number;
  timeMs?: number;
}

/** `folder`: absolute, links resolved. Rejects when the signal aborts. */
export async function listFiles(folder: string, signal: AbortSignal, bounds: ListingBounds = {}): Promise<Listing> {
  const { isOpen = () => true, filesMax = limits.listedFilesMax, timeMs = limits.listMs } = bounds;
  const run = new ListingRun({ isOpen, filesMax, signal: AbortSignal.any([signal, AbortSignal.timeout(timeMs)]) });
  await run.listFolder(folder, "");
  signal.throwIfAborted();
  return { paths: [...run.found].toSorted(), isCut: run.isCut };
}

/** Without git there is nobody who says that these are made by programs. */
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

  /** Prefix: what the paths in the folder begin with, empty or with a slash at its end. */
  async listFolder(folder: string, prefix: string): Promise<void> {
    if (this.#isOver() || !this.#isOpen(prefix)) return;
    const nested = await this.#gitFiles(folder, prefix);
    // No repository, or a folder of it that git passes over.
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

  /** Null: there is no git, or no repository of it. */
  async #gitFiles(folder: string, prefix: string): Promise<GitFiles | null> {
    if (!(await isInWorkingCopy(folder, this.#signal))) return null;
    const gone: string[] = [];
    const repositories: string[] = [];
    let any = false;
    const isRepository = await gitEntries(folder, this.#signal, (entry) => {
      if (this.#isOver()) return false;
      const { tag, mode, path } = parsedEntry(entry);
      // A submodule that was never fetched names itself.
      if (path === "./" || path === "") return true;
      if (path.endsWith("/") || mode === "160000") repositories.push(path.replace(/\/$/, ""));
      // R: it is gone from the disk; S: a sparse checkout left it out.
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

const passedOver: readonly string[] = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG"];

/** Not all at once: a folder may have more than can be held. */
async function entriesOf(folder: string, entriesMax: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(folder, { bufferSize: 512 })) {
      if (entries.push(entry) > entriesMax) break;
    }
  } catch (error) {
    // It went meanwhile, may not be seen, or lies deeper than a path can say.
    if (!passedOver.includes(systemCode(error))) throw error;
  }
  return entries;
}

/** "H 100644 <object> <stage>\t<path>" for what git tracks, "? <path>" for what it would take. */
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
