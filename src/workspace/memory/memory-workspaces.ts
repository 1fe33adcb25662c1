/** Keeps workspaces in the memory of this process (W1): for tests, and for programs that embed aptove without a disk. */
import { AptoveError } from "../../domain/errors.ts";
import type { Workspace } from "../../domain/workspace.ts";
import {
  checkPermission,
  checkNames,
  checkWorkspaceId,
  type NewWorkspace,
  type WorkspaceStore,
  type WorkspaceConfig,
} from "../workspace-store.ts";
import { OneAtATime } from "./one-at-a-time.ts";

/** Returns an empty store. `configs` has the text of each workspace's own `config.toml`, by id. */
export function memoryWorkspaces({ configs = {} }: { configs?: Record<string, string> } = {}): WorkspaceStore {
  return new MemoryWorkspaces(new Map(Object.entries(configs)));
}

interface Kept {
  workspace: Workspace;
  permissions: Map<string, number>;
}

class MemoryWorkspaces implements WorkspaceStore {
  readonly #kept = new Map<string, Kept>();
  readonly #configs: ReadonlyMap<string, string>;
  readonly #line = new OneAtATime();

  constructor(configs: ReadonlyMap<string, string>) {
    this.#configs = configs;
  }

  async create({ id, name = null, provider = null, at }: NewWorkspace): Promise<Workspace> {
    checkWorkspaceId(id);
    checkNames({ name, provider });
    if (this.#kept.has(id)) throw new AptoveError("workspace_exists", `the workspace ${id} already exists`);
    const workspace: Workspace = { id, name, createdAt: at, lastAccessedAt: at, provider, damage: null };
    this.#kept.set(id, { workspace, permissions: new Map() });
    return { ...workspace };
  }

  async load(id: string): Promise<Workspace | null> {
    checkWorkspaceId(id);
    const kept = this.#kept.get(id);
    return kept === undefined ? null : { ...kept.workspace };
  }

  async list(): Promise<Workspace[]> {
    return [...this.#kept.values()].map(({ workspace }) => ({ ...workspace }));
  }

  async update(id: string, patch: { name?: string | null; provider?: string | null }): Promise<Workspace> {
    checkWorkspaceId(id);
    checkNames(patch);
    return await this.#line.run(id, () => {
      const kept = this.#found(id);
      kept.workspace = { ...kept.workspace, ...patch };
      return { ...kept.workspace };
    });
  }

  async touch(id: string, at: number): Promise<boolean> {
    checkWorkspaceId(id);
    return await this.#line.run(id, () => {
      const kept = this.#kept.get(id);
      if (kept === undefined) return false;
      const { workspace } = kept;
      kept.workspace = { ...workspace, lastAccessedAt: Math.max(at, workspace.lastAccessedAt) };
      return true;
    });
  }

  async delete(id: string, prepare?: (workspace: Workspace) => Promise<boolean>): Promise<boolean> {
    checkWorkspaceId(id);
    return await this.#line.run(id, async () => {
      const kept = this.#kept.get(id);
      if (kept === undefined) return false;
      if (prepare !== undefined && !(await prepare({ ...kept.workspace }))) return false;
      return this.#kept.delete(id);
    });
  }

  async loadConfig(id: string): Promise<WorkspaceConfig | null> {
    checkWorkspaceId(id);
    this.#found(id);
    const text = this.#configs.get(id);
    return text === undefined ? null : { text, place: `the configuration of the workspace ${id}` };
  }

  async permissions(id: string): Promise<Map<string, number>> {
    checkWorkspaceId(id);
    return new Map(this.#found(id).permissions);
  }

  async changePermissions(id: string, change: (permissions: Map<string, number>) => void): Promise<void> {
    checkWorkspaceId(id);
    await this.#line.run(id, () => {
      const kept = this.#found(id);
      const permissions = new Map(kept.permissions);
      change(permissions);
      for (const key of permissions.keys()) checkPermission(key);
      kept.permissions = permissions;
    });
  }

  #found(id: string): Kept {
    const kept = this.#kept.get(id);
    if (kept !== undefined) return kept;
    throw new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(id)}`);
  }
}
