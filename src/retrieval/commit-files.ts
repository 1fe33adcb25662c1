/**
 * The files of a repository as a commit contains them (Q1). A build indexes these, so that two runs on one commit have the same
 * result, whatever is changed in the folder in the meantime. One `git cat-file` process per run reads the contents.
 */
import { pathFault } from "../domain/active-file.ts";
import { AptoveError } from "../domain/errors.ts";
import { limits } from "../domain/limits.ts";
import { chooseFiles } from "./indexed-files.ts";
import { withinMs } from "../system/abort.ts";
import { startGit, type GitProcess } from "../system/git/git.ts";
import { gitSilenceMsMax } from "../system/git/git-silence.ts";
import { folderRoot, runGit, trackedFiles, type FileFacts, type RepositoryFiles } from "./repository-files.ts";
import type { IndexJob } from "./retriever.ts";
import { withUnusualPath } from "./unindexed-file.ts";

/** Returns the files that a run reads: those of the working copy, or those of a commit. */
export async function filesOf(job: IndexJob, signal: AbortSignal): Promise<RepositoryFiles> {
  const files =
    job.commit === undefined ? await trackedFiles(job.root, signal) : await commitFiles(job.root, job.commit, signal);
  try {
    return { ...files, ...(await chooseFiles(files, job.ignore ?? [])) };
  } catch (error) {
    files.close();
    throw error;
  }
}

interface CommitFile extends FileFacts {
  object: string;
}

/** Throws `repository_invalid` if the folder is outside of git, or if git does not know the commit there. */
async function commitFiles(folder: string, name: string, signal?: AbortSignal): Promise<RepositoryFiles> {
  const root = folderRoot(folder);
  const commit = await commitId(root, name, signal);
  const files = new Map<string, CommitFile>();
  const unusual: string[] = [];
  for (const entry of (await runGit(root, ["ls-tree", "-r", "-z", "--long", commit], signal)).split("\0")) {
    // "100644 blob <object> <size>\t<path>"; 120000 is a symbolic link, 160000 a submodule.
    const [, object, size, path] = /^100\d{3} blob ([0-9a-f]+) +(\d+)\t([^]*)$/.exec(entry) ?? [];
    if (object === undefined || path === undefined) continue;
    if (pathFault(path) !== null) unusual.push(path);
    else files.set(path, { path, object, sizeBytes: Number(size), stamp: `git:${object}`, changedAt: 0 });
  }
  const objects = new ObjectReader(root);
  return {
    root,
    commit,
    paths: [...files.keys()].toSorted(),
    skipped: unusual.toSorted().map(withUnusualPath),
    stat: (path) => files.get(path) ?? null,
    read: async (path) => await objects.read(files.get(path)?.object ?? ""),
    close: () => objects.close(),
  };
}

async function commitId(root: string, name: string, signal?: AbortSignal): Promise<string> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  try {
    return (await runGit(root, args, signal)).trim();
  } catch (error) {
    if (!(error instanceof AptoveError) || !error.detail.startsWith("git could not")) throw error;
    if (!(await hasCommit(root, signal))) {
      const fix = "make one with git commit, or index the files as they are: aptove index";
      throw new AptoveError("repository_invalid", `${root} has no commit yet; ${fix}`, { cause: error });
    }
    const fix = "name an existing commit: a shallow clone has only the newest ones";
    const detail = `git knows no commit ${JSON.stringify(name)} in ${root}; ${fix}`;
    throw new AptoveError("repository_invalid", detail, { cause: error });
  }
}

async function hasCommit(root: string, signal?: AbortSignal): Promise<boolean> {
  return (await runGit(root, ["rev-list", "--all", "--max-count=1"], signal)) !== "";
}

/** Reads objects one after the other. The first read starts the process. */
class ObjectReader {
  readonly #root: string;
  #child: GitProcess | null = null;
  #output: AsyncIterator<Buffer> | null = null;
  /** The bytes that were read from the process but not used yet. */
  #buffered: Buffer = Buffer.alloc(0);

  constructor(root: string) {
    this.#root = root;
  }

  async read(object: string): Promise<Uint8Array> {
    const child = await this.#start(object);
    child.stdin.write(`${object}\n`);
    // "<object> blob <size>\n<content>\n"
    const size = / blob (\d+)$/.exec(await this.#line())?.[1];
    if (size === undefined || Number(size) > limits.indexedFileBytesMax) throw this.#lost(object);
    const content = await this.#take(Number(size) + 1, object);
    return content.subarray(0, -1);
  }

  close(): void {
    this.#child?.kill("SIGKILL");
    this.#child = null;
  }

  async #start(object: string): Promise<GitProcess> {
    if (this.#child !== null) return this.#child;
    const child = await startGit(this.#root, ["cat-file", "--batch"]);
    if (child === null) throw this.#lost(object);
    this.#child = child;
    this.#output = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    return child;
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#buffered.indexOf(0x0a);
      if (end !== -1) return (await this.#take(end + 1, "")).subarray(0, -1).toString();
      if (!(await this.#more())) return "";
    }
  }

  async #take(bytes: number, object: string): Promise<Buffer> {
    while (this.#buffered.length < bytes) if (!(await this.#more())) throw this.#lost(object);
    const taken = this.#buffered.subarray(0, bytes);
    this.#buffered = this.#buffered.subarray(bytes);
    return taken;
  }

  async #more(): Promise<boolean> {
    // A destroyed stream rejects, an ended one is done, and an object that is no regular file is waited for in vain. For the
    // reader all of them mean the end.
    const next = await withinMs(
      gitSilenceMsMax,
      this.#output?.next().catch(() => null),
    );
    if (next === null || next === undefined || next.done === true) return false;
    this.#buffered = Buffer.concat([this.#buffered, next.value]);
    return true;
  }

  #lost(object: string): AptoveError {
    return new AptoveError("repository_invalid", `git could not read the object ${object} of ${this.#root}`);
  }
}
