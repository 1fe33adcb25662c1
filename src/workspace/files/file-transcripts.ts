/**
 * Stores transcripts as files in the folder of their workspace: `session.md`, the others under `sessions/`, and the notes
 * (docs/formats/transcript.md). A change is in the page cache when its call returns, and on the disk after `sync`. Files have mode 0600, folders 0700 (B6). A link is not followed: it is not a regular file.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type BigIntStats,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import {
  createFolder,
  removeIfPossible,
  smallFileBytesMax,
  syncContent,
  syncFolder,
  writeAll,
} from "../../system/durable-files.ts";
import { noFollowFlag } from "../../system/read-files.ts";
import { isAbsence } from "../../system/system-error.ts";
import {
  checkTranscriptName,
  isTranscriptName,
  type TranscriptFile,
  type TranscriptStore,
} from "../transcript-store.ts";
import { withWorkspaceLock } from "./workspace-lock.ts";
import { workspacePaths, type WorkspacePaths, type WorkspaceFolders } from "./workspace-paths.ts";

/** The suffix of a file while it is written. The next writer replaces a file that a killed one left; only one writes at a time. */
const newSuffix = ".new";
const sessionsFolder = "sessions";

const readElsewhere = promisify(read);

export function fileTranscripts(data: Pick<WorkspaceFolders, "workspaces" | "locks">): TranscriptStore {
  return new FileTranscripts(data);
}

class FileTranscripts implements TranscriptStore {
  readonly #data: Pick<WorkspaceFolders, "workspaces" | "locks">;
  /** What changed since the last `sync`, by workspace: the paths of files and of folders. */
  readonly #unsynced = new Map<string, { files: Set<string>; folders: Set<string> }>();

  constructor(data: Pick<WorkspaceFolders, "workspaces" | "locks">) {
    this.#data = data;
  }

  async locked<T>(workspaceId: string, body: () => Promise<T>): Promise<T> {
    const paths = this.#existing(workspaceId);
    return await withWorkspaceLock(paths.transcriptLock, async () => {
      this.#existing(workspaceId);
      return await body();
    });
  }

  async stat(workspaceId: string, name: string): Promise<TranscriptFile | null> {
    const path = this.#pathOf(workspaceId, name);
    return await orNull(name, () => factsOf(lstatSync(path, { bigint: true })));
  }

  async read(workspaceId: string, name: string): Promise<(TranscriptFile & { content: Uint8Array | null }) | null> {
    const path = this.#pathOf(workspaceId, name);
    return await orNull(name, async () => {
      const found = lstatSync(path, { bigint: true });
      const facts = factsOf(found);
      if (!found.isFile() || facts.bytes > limits.transcriptBytesMax) return { ...facts, content: null };
      return await whileOpen(path, constants.O_RDONLY, readWhole);
    });
  }

  async append(
    workspaceId: string,
    name: string,
    { stamp, content }: { stamp: string; content: Uint8Array },
  ): Promise<TranscriptFile | null> {
    const path = this.#pathOf(workspaceId, name);
    return await orNull(name, async () => {
      if (factsOf(lstatSync(path, { bigint: true })).stamp !== stamp) return null;
      return await whileOpen(path, constants.O_WRONLY | constants.O_APPEND, async (file) => {
        if (factsOf(fstatSync(file, { bigint: true })).stamp !== stamp) return null;
        await writeAll(file, content);
        this.#unsyncedOf(workspaceId).files.add(path);
        return factsOf(fstatSync(file, { bigint: true }));
      });
    });
  }

  async write(
    workspaceId: string,
    name: string,
    { stamp, content }: { stamp?: string | null; content: Uint8Array },
  ): Promise<TranscriptFile | null> {
    const path = this.#pathOf(workspaceId, name);
    const { folder } = this.#existing(workspaceId);
    const aside = `${path}${newSuffix}`;
    try {
      // The workspace's own folder is never made here: without it there is no workspace.
      if (dirname(path) !== folder) this.#createFolder(workspaceId, dirname(path));
      rmSync(aside, { force: true });
      await createFile(aside, content);
      if (stamp !== undefined && ((await this.stat(workspaceId, name))?.stamp ?? null) !== stamp) {
        rmSync(aside);
        return null;
      }
      renameSync(aside, path);
      this.#unsyncedOf(workspaceId).files.add(path);
      this.#unsyncedOf(workspaceId).folders.add(dirname(path));
      return factsOf(lstatSync(path, { bigint: true }));
    } catch (error) {
      removeIfPossible(aside);
      throw fault(name, error);
    }
  }

  async move(workspaceId: string, from: string, to: string): Promise<TranscriptFile> {
    const [fromPath, toPath] = [this.#pathOf(workspaceId, from), this.#pathOf(workspaceId, to)];
    const { folder } = this.#existing(workspaceId);
    if ((await this.stat(workspaceId, to)) !== null) {
      throw new AptoveError("storage_failed", `the transcript ${to} already exists`);
    }
    try {
      if (dirname(toPath) !== folder) this.#createFolder(workspaceId, dirname(toPath));
      renameSync(fromPath, toPath);
      const { files, folders } = this.#unsyncedOf(workspaceId);
      if (files.delete(fromPath)) files.add(toPath);
      folders.add(dirname(fromPath)).add(dirname(toPath));
      return factsOf(lstatSync(toPath, { bigint: true }));
    } catch (error) {
      throw fault(from, error);
    }
  }

  async remove(workspaceId: string, name: string): Promise<void> {
    const path = this.#pathOf(workspaceId, name);
    await orNull(name, () => {
      rmSync(path, { recursive: true });
      this.#unsyncedOf(workspaceId).folders.add(dirname(path));
    });
  }

  async sync(workspaceId: string): Promise<void> {
    const changed = this.#unsynced.get(workspaceId);
    if (changed === undefined) return;
    this.#unsynced.delete(workspaceId);
    // The content first, then the names that lead to it. What was deleted meanwhile needs no sync.
    for (const path of changed.files) await orNull(path, () => syncContent(path));
    for (const path of changed.folders) await orNull(path, () => syncFolder(path));
  }

  async removeAll(workspaceId: string): Promise<void> {
    const { folder } = workspacePaths(this.#data, workspaceId);
    await orNull(sessionsFolder, () => rmSync(join(folder, sessionsFolder), { recursive: true }));
    const names = (await orNull(workspaceId, () => readdirSync(folder))) ?? [];
    const ours = names.filter((name) => isTranscriptName(name.replace(/\.new$/, "")));
    for (const name of ours) await orNull(name, () => rmSync(join(folder, name), { recursive: true }));
  }

  #unsyncedOf(workspaceId: string): { files: Set<string>; folders: Set<string> } {
    const changed = this.#unsynced.get(workspaceId) ?? { files: new Set(), folders: new Set() };
    this.#unsynced.set(workspaceId, changed);
    return changed;
  }

  #createFolder(workspaceId: string, path: string): void {
    if (createFolder(path)) this.#unsyncedOf(workspaceId).folders.add(dirname(path));
  }

  #pathOf(workspaceId: string, name: string): string {
    checkTranscriptName(name);
    return join(workspacePaths(this.#data, workspaceId).folder, name);
  }

  /** Returns the paths of an existing workspace. Throws `workspace_unknown`: a late turn does not recreate a deleted workspace. */
  #existing(workspaceId: string): WorkspacePaths {
    const paths = workspacePaths(this.#data, workspaceId);
    if (isFolder(paths.folder)) return paths;
    throw new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(workspaceId)}`);
  }
}

/** Returns the facts of a file. Every change alters its inode, size or times. Its change time (ctime) cannot be set by the process that changes it. */
function factsOf(stat: BigIntStats): TranscriptFile {
  return { bytes: Number(stat.size), stamp: `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}` };
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    if (isAbsence(error)) return false;
    throw fault(path, error);
  }
}

async function whileOpen<T>(path: string, flags: number, body: (file: number) => Promise<T>): Promise<T> {
  const file = openSync(path, flags | noFollowFlag);
  try {
    return await body(file);
  } finally {
    closeSync(file);
  }
}

async function createFile(path: string, content: Uint8Array): Promise<void> {
  const file = openSync(path, "wx", 0o600);
  try {
    await writeAll(file, content);
  } finally {
    closeSync(file);
  }
}

async function readWhole(file: number): Promise<TranscriptFile & { content: Uint8Array | null }> {
  // The stamp is taken before reading, so a change during the read shows in the next stamp.
  const facts = factsOf(fstatSync(file, { bigint: true }));
  if (facts.bytes > limits.transcriptBytesMax) return { ...facts, content: null };
  const content = Buffer.alloc(facts.bytes);
  const isSmall = facts.bytes <= smallFileBytesMax;
  let length = 0;
  for (;;) {
    const rest = content.length - length;
    const bytesRead = isSmall
      ? readSync(file, content, length, rest, length)
      : (await readElsewhere(file, content, length, rest, length)).bytesRead;
    length += bytesRead;
    if (bytesRead === 0 || length === content.length) return { ...facts, content: content.subarray(0, length) };
  }
}

/** Runs the operation. Returns null if the file does not exist. */
async function orNull<T>(name: string, ask: () => T | Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (isAbsence(error)) return null;
    throw fault(name, error);
  }
}

function fault(name: string, error: unknown): AptoveError {
  return storageFault(`the transcript ${name} could not be read or written`, error);
}
