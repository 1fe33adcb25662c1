/**
 * The operations on workspaces (W2, W6): it finds a device's workspace, creates and deletes workspaces, and collects unused
 * ones. It makes the decisions; three stores keep the data.
 */
import { randomUUID } from "node:crypto";
import { AptoveError } from "../domain/errors.ts";
import { isoTime, type Millis } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { BoundWorkspace, Workspace, WorkspaceDeletion } from "../domain/workspace.ts";
import type { BindingStore } from "./binding-store.ts";
import type { TranscriptStore } from "./transcript-store.ts";
import { defaultWorkspaceId, isWorkspaceId, type WorkspaceStore } from "./workspace-store.ts";

export interface WorkspacesDependencies {
  store: WorkspaceStore;
  bindings: BindingStore;
  transcripts: Pick<TranscriptStore, "locked" | "removeAll">;
  now(): Millis;
}

export interface GcRequest {
  /** The age in days since the last use. A workspace that was used within `limits.recentUseMs` stays, whatever the age. */
  maxAgeDays: number;
  /** True to list the workspaces without deleting them. */
  dryRun: boolean;
  isRunning: WorkspaceDeletion["isRunning"];
}

const dayMs = 86_400_000;

export class Workspaces {
  readonly #dependencies: WorkspacesDependencies;

  constructor(dependencies: WorkspacesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the workspace of a device, and marks it as used. Without a device it is `default`. A device without a workspace
   * gets a new one. If its workspace is missing on disk, it is made again under the same id, because its sessions and other
   * devices refer to that id. Concurrent calls, from any process, get the same workspace.
   */
  async resolve(deviceId: string | null): Promise<Workspace> {
    if (deviceId === null) return await this.use(defaultWorkspaceId);
    const { bindings } = this.#dependencies;
    const bound = await bindings.resolve(deviceId);
    const known = bound === null ? null : await this.#used(bound);
    if (known !== null) return known;
    const settled = await bindings.settle(deviceId, async (boundNow) => {
      const id = boundNow ?? randomUUID();
      await this.#makeMissing(id);
      return id;
    });
    return await this.use(settled);
  }

  /** Returns a workspace by its id, and marks it as used. Makes `default` if it is missing. Throws `workspace_unknown`. */
  async use(id: string): Promise<Workspace> {
    const known = await this.#used(id);
    if (known !== null) return known;
    if (id !== defaultWorkspaceId) throw unknown(id);
    await this.#makeMissing(id);
    return (await this.#used(id)) ?? (await this.find(id));
  }

  /** Marks a workspace as used, as a turn in it does. Returns false if it does not exist; it is not made. */
  async touch(id: string): Promise<boolean> {
    return isWorkspaceId(id) && (await this.#used(id)) !== null;
  }

  /** Returns a workspace without marking it as used. Throws `workspace_unknown`. */
  async find(id: string): Promise<Workspace> {
    const workspace = await this.#dependencies.store.load(id);
    if (workspace === null) throw unknown(id);
    return workspace;
  }

  async create(words: { name?: string | null; provider?: string | null } = {}): Promise<Workspace> {
    return await this.#dependencies.store.create({ id: randomUUID(), ...words, at: this.#dependencies.now() });
  }

  /** Returns the workspaces, the last used first. */
  async list(): Promise<Workspace[]> {
    const workspaces = await this.#dependencies.store.list();
    return workspaces.toSorted(
      (one, other) => other.lastAccessedAt - one.lastAccessedAt || (one.id < other.id ? -1 : 1),
    );
  }

  /** Returns the workspaces with the ids of their devices, the last used first. */
  async listBound(): Promise<BoundWorkspace[]> {
    const [workspaces, bindings] = await Promise.all([this.list(), this.#dependencies.bindings.list()]);
    return workspaces.map((workspace) => {
      const bound = bindings.filter(({ workspaceId }) => workspaceId === workspace.id);
      return { ...workspace, devices: bound.map(({ deviceId }) => deviceId) };
    });
  }

  /**
   * Deletes a workspace: first unbinds its devices, then deletes its transcripts, then the rest. Its sessions stay. Throws
   * `workspace_unknown`, and `workspace_busy` while a turn runs there, because the turn would write into it, and if it was used
   * after `unusedSince`, because the person who decided did not know of that.
   */
  async delete(id: string, { isRunning, unusedSince = Infinity }: WorkspaceDeletion): Promise<void> {
    const mayGo = async ({ lastAccessedAt }: Workspace): Promise<boolean> => {
      if (lastAccessedAt > unusedSince) {
        const used = `the workspace ${id} was used at ${isoTime(lastAccessedAt)}, after you looked at it`;
        throw new AptoveError("workspace_busy", `${used}; look again, and try again if it may go`);
      }
      if (!(await isRunning(id))) return true;
      const fix = "wait for its end, or stop it (aptove session interrupt), and try again";
      throw new AptoveError("workspace_busy", `a turn is running in the workspace ${id}; ${fix}`);
    };
    if (!(await this.#deleteIf(id, mayGo))) throw unknown(id);
  }

  /**
   * Deletes workspaces that were not used for a long time, and returns them. It never deletes `default`, or a workspace with a
   * running turn, one that was used recently, one that another process is changing, or a damaged one, which a person must
   * check. The age is checked again right before the deletion, so a use in between saves a workspace.
   */
  async gc({ maxAgeDays, dryRun, isRunning }: GcRequest): Promise<Workspace[]> {
    const staleBefore = this.#dependencies.now() - Math.max(maxAgeDays * dayMs, limits.recentUseMs);
    const isStale = async ({ id, lastAccessedAt, damage }: Workspace): Promise<boolean> =>
      id !== defaultWorkspaceId && damage === null && lastAccessedAt < staleBefore && !(await isRunning(id));
    const collected: Workspace[] = [];
    for (const workspace of await this.list()) {
      if (!(await isStale(workspace))) continue;
      if (dryRun || (await this.#deleteIfUnlessBusy(workspace.id, isStale))) collected.push(workspace);
    }
    return collected;
  }

  async #deleteIfUnlessBusy(id: string, mayGo: (workspace: Workspace) => Promise<boolean>): Promise<boolean> {
    try {
      return await this.#deleteIf(id, mayGo);
    } catch (error) {
      if (error instanceof AptoveError && error.code === "workspace_busy") return false;
      throw error;
    }
  }

  /** Deletes in an order that never leaves a reference to deleted data, wherever it stops (W6). */
  async #deleteIf(id: string, mayGo: (workspace: Workspace) => Promise<boolean>): Promise<boolean> {
    const { store, bindings, transcripts } = this.#dependencies;
    return await store.delete(id, async (workspace) => {
      if (!(await mayGo(workspace))) return false;
      await bindings.unbindWorkspace(id);
      await transcripts.locked(id, () => transcripts.removeAll(id));
      return true;
    });
  }

  /** Loads a workspace and marks it as used. Null if it does not exist. A recent mark is not renewed, to save disk writes. */
  async #used(id: string): Promise<Workspace | null> {
    const { store, now } = this.#dependencies;
    const workspace = await store.load(id);
    const at = now();
    if (workspace === null || at - workspace.lastAccessedAt < limits.useMarkMs) return workspace;
    return (await store.touch(id, at)) ? { ...workspace, lastAccessedAt: at } : null;
  }

  async #makeMissing(id: string): Promise<void> {
    const { store, now } = this.#dependencies;
    if ((await store.load(id)) !== null) return;
    try {
      await store.create({ id, at: now() });
    } catch (error) {
      // Another caller created it first.
      if (!(error instanceof AptoveError) || error.code !== "workspace_exists") throw error;
    }
  }
}

function unknown(id: string): AptoveError {
  return new AptoveError(
    "workspace_unknown",
    `there is no workspace ${JSON.stringify(id)}; see: aptove workspace list`,
  );
}
