/**
 * Stores workspaces in folders of the data folder (W1): `workspaces/<id>/`. One rename makes or deletes a folder, so no
 * process finds a part of one. Its files are replaced whole, under the workspace's lock (B4).
 */
import { randomUUID } from "node:crypto";
import { lstatSync, renameSync, statSync, type Stats } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import { storageFault } from "../../domain/storage-fault.ts";
import type { Workspace } from "../../domain/workspace.ts";
import {
  createDurableFile,
  createDurableFolder,
  createFolder,
  removeIfPossible,
  syncFolder,
} from "../../system/durable-files.ts";
import { readTextIfPresent } from "../../system/read-files.ts";
import { isAbsence, systemCode } from "../../system/system-error.ts";
import {
  checkPermission,
  checkNames,
  isWorkspaceId,
  type NewWorkspace,
  type WorkspaceStore,
  type WorkspaceConfig,
} from "../workspace-store.ts";
import { permissionsFile, readPermissions, writePermissions } from "./permissions-file.ts";
import { readWorkspace, workspaceText, writeWorkspace, type WorkspaceFile } from "./workspace-file.ts";
import { withWorkspaceLock } from "./workspace-lock.ts";
import { workspacePaths, type WorkspacePaths, type WorkspaceFolders } from "./workspace-paths.ts";

/** Prefixes of temporary folders, in which a workspace is made or deleted. No id can begin with them. */
const newPrefix = ".new-";
const deletedPrefix = ".deleted-";

type WorkspaceStorePaths = Pick<WorkspaceFolders, "workspaces" | "locks">;

/** Returns the store. No file is read or written before the first call. The data folder itself must exist. */
export function fileWorkspaces(data: WorkspaceStorePaths): WorkspaceStore {
  return new FileWorkspaces(data);
}

class FileWorkspaces implements WorkspaceStore {
  readonly #data: WorkspaceStorePaths;

  constructor(data: WorkspaceStorePaths) {
    this.#data = data;
  }

  async create({ id, name = null, provider = null, at }: NewWorkspace): Promise<Workspace> {
    const paths = workspacePaths(this.#data, id);
    checkNames({ name, provider });
    const workspace: WorkspaceFile = { id, name, createdAt: at, lastAccessedAt: at, provider, rest: {} };
    const aside = join(this.#data.workspaces, `${newPrefix}${randomUUID()}`);
    try {
      if (isThere(paths.folder)) throw exists(id);
      await createDurableFolder(this.#data.workspaces);
      await fill(aside, paths, workspaceText(workspace));
      renameSync(aside, paths.folder);
      await syncFolder(this.#data.workspaces);
    } catch (error) {
      removeIfPossible(aside);
      // Another process made the workspace. A rename cannot replace its folder, which has files.
      if (["ENOTEMPTY", "EEXIST", "EPERM"].includes(systemCode(error)) && isThere(paths.folder)) {
        throw exists(id);
      }
      throw storageFault(`the workspace ${id} could not be made`, error);
    }
    return shown(workspace);
  }

  async load(id: string): Promise<Workspace | null> {
    const workspace = await readWorkspace(workspacePaths(this.#data, id), id);
    return workspace === null ? null : shown(workspace);
  }

  async list(): Promise<Workspace[]> {
    const names = await this.#names();
    const found = await Promise.all(names.filter(isWorkspaceId).map((id) => this.#loadEvenDamaged(id)));
    return found.filter((workspace) => workspace !== null);
  }

  async update(id: string, patch: { name?: string | null; provider?: string | null }): Promise<Workspace> {
    checkNames(patch);
    const changed = await this.#change(id, (workspace) => ({ ...workspace, ...patch }));
    if (changed === null) throw unknown(id);
    return shown(changed);
  }

  async touch(id: string, at: number): Promise<boolean> {
    const mark = (workspace: WorkspaceFile): WorkspaceFile | null =>
      at > workspace.lastAccessedAt ? { ...workspace, lastAccessedAt: at } : null;
    return (await this.#change(id, mark)) !== null;
  }

  async delete(id: string, prepare?: (workspace: Workspace) => Promise<boolean>): Promise<boolean> {
    const paths = workspacePaths(this.#data, id);
    return await this.#whileThere(paths, false, async () => {
      const workspace = await this.#loadEvenDamaged(id);
      if (workspace === null) return false;
      if (prepare !== undefined && !(await prepare(workspace))) return false;
      // With the transcript's lock, no writer of the transcript loses the folder while it writes.
      await withWorkspaceLock(paths.transcriptLock, () => this.#deleteFolder(paths));
      return true;
    });
  }

  async loadConfig(id: string): Promise<WorkspaceConfig | null> {
    const { folder, config } = workspacePaths(this.#data, id);
    if (!isThere(folder)) throw unknown(id);
    try {
      const text = readTextIfPresent(config);
      return text === null ? null : { text, place: config };
    } catch (error) {
      if (error instanceof TypeError) {
        throw new AptoveError("config_invalid", `${config} is not UTF-8 text`, { cause: error });
      }
      throw storageFault(`${config} could not be read`, error);
    }
  }

  async permissions(id: string): Promise<Map<string, number>> {
    const paths = workspacePaths(this.#data, id);
    if (!isThere(paths.folder)) throw unknown(id);
    return (await readPermissions(permissionsFile(paths))).permissions;
  }

  async changePermissions(id: string, change: (permissions: Map<string, number>) => void): Promise<void> {
    const paths = workspacePaths(this.#data, id);
    const isChanged = await this.#whileThere(paths, false, async () => {
      const file = permissionsFile(paths);
      const { permissions, rest } = await readPermissions(file);
      const before = new Map(permissions);
      change(permissions);
      for (const key of permissions.keys()) checkPermission(key);
      const isSame = before.size === permissions.size && [...before].every(([key, at]) => permissions.get(key) === at);
      if (!isSame) await writePermissions(file, { permissions, rest });
      return true;
    });
    if (!isChanged) throw unknown(id);
  }

  /** Changes the workspace's file. `change` returns null if there is nothing to write. Returns null if there is no such workspace. */
  async #change(id: string, change: (workspace: WorkspaceFile) => WorkspaceFile | null): Promise<WorkspaceFile | null> {
    const paths = workspacePaths(this.#data, id);
    return await this.#whileThere(paths, null, async () => {
      const before = await readWorkspace(paths, id);
      if (before === null) return null;
      const after = change(before);
      if (after !== null) await writeWorkspace(paths, after);
      return after ?? before;
    });
  }

  /** Runs the body under the workspace's lock. Returns `absent`, without making a lock, if the workspace does not exist. */
  async #whileThere<T>(paths: WorkspacePaths, absent: T, body: () => Promise<T>): Promise<T> {
    if (!isThere(paths.folder)) return absent;
    return await withWorkspaceLock(paths.lock, async () => (isThere(paths.folder) ? await body() : absent));
  }

  /** Deletes the workspace: first renames its folder, then deletes it for good, with its locks. A new workspace with that id makes new locks. */
  async #deleteFolder(paths: WorkspacePaths): Promise<void> {
    const aside = join(this.#data.workspaces, `${deletedPrefix}${randomUUID()}`);
    try {
      renameSync(paths.folder, aside);
      await syncFolder(this.#data.workspaces);
      await this.#sweep();
    } catch (error) {
      throw storageFault(`the workspace ${basename(paths.folder)} could not be deleted`, error);
    }
    // Windows cannot delete open files, so the empty lock files stay there.
    if (process.platform === "win32") return;
    await Promise.all([paths.transcriptLock, paths.lock].map((lock) => rm(lock, { force: true })));
  }

  /** Deletes the folders that this and earlier deletions renamed, and old folders of processes that ended while they made a workspace. */
  async #sweep(): Promise<void> {
    for (const name of await this.#names()) {
      const path = join(this.#data.workspaces, name);
      const isOld = name.startsWith(newPrefix) && ageOf(path) > limits.abandonedFileAgeMs;
      if (isOld || name.startsWith(deletedPrefix)) await rm(path, { recursive: true, force: true });
    }
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#data.workspaces);
    } catch (error) {
      if (systemCode(error) === "ENOENT") return [];
      throw storageFault(`${this.#data.workspaces} could not be read`, error);
    }
  }

  async #loadEvenDamaged(id: string): Promise<Workspace | null> {
    try {
      return await this.load(id);
    } catch (error) {
      if (!(error instanceof AptoveError)) throw error;
      if (error.code !== "workspace_damaged" && error.code !== "data_newer") throw error;
      const found = orNull(() => lstatSync(workspacePaths(this.#data, id).folder));
      if (found === null) return null;
      const times = { createdAt: Math.floor(found.birthtimeMs), lastAccessedAt: Math.floor(found.mtimeMs) };
      return { id, name: null, ...times, provider: null, damage: error.detail };
    }
  }
}

/** Makes the folder of a new workspace with everything that W1 lists, durable. */
async function fill(folder: string, paths: WorkspacePaths, text: string): Promise<void> {
  createFolder(folder);
  const empty = [paths.mcp, paths.skills, paths.memory].map((path) => basename(path));
  for (const name of empty) createFolder(join(folder, name));
  await Promise.all([
    createDurableFile(join(folder, basename(paths.workspace)), Buffer.from(text)),
    createDurableFile(join(folder, basename(paths.session)), Buffer.alloc(0)),
  ]);
  await syncFolder(folder);
}

function isThere(path: string): boolean {
  return orNull(() => statSync(path)) !== null;
}

function ageOf(path: string): number {
  const found = orNull(() => lstatSync(path));
  return found === null ? 0 : Date.now() - found.mtimeMs;
}

function orNull(find: () => Stats): Stats | null {
  try {
    return find();
  } catch (error) {
    if (isAbsence(error)) return null;
    throw storageFault("a workspace could not be read", error);
  }
}

function shown({ id, name, createdAt, lastAccessedAt, provider }: WorkspaceFile): Workspace {
  return { id, name, createdAt, lastAccessedAt, provider, damage: null };
}

function exists(id: string): AptoveError {
  return new AptoveError("workspace_exists", `the workspace ${id} already exists`);
}

function unknown(id: string): AptoveError {
  return new AptoveError(
    "workspace_unknown",
    `there is no workspace ${JSON.stringify(id)}; see: aptove workspace list`,
  );
}
