/**
 * What is done with workspaces (W2, W6): which one a device has, how one comes and goes, and which are collected. It
 * stands on three stores and decides; they keep.
 */
import { randomUUID } from "node:crypto";
import { AptoveError } from "../domain/errors.ts";
import type { Millis } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import type { Binding, BindingStore } from "./binding-store.ts";
import type { TranscriptStore } from "./transcript-store.ts";
import { defaultWorkspaceId, isWorkspaceId, type Workspace, type WorkspaceStore } from "./workspace-store.ts";

export interface WorkspacesParts {
  store: WorkspaceStore;
  bindings: BindingStore;
  transcripts: Pick<TranscriptStore, "locked" | "removeAll">;
  now(): Millis;
}

export interface GcRequest {
  /** In days since its last use; whatever it says, a use spares a workspace for `limits.recentUseMs`. */
  maxAgeDays: number;
  /** Only tell which. */
  dryRun: boolean;
  /** Whether a turn of a session of this workspace is running. */
  isRunning(workspaceId: string): Promise<boolean>;
}

const dayMs = 86_400_000;

export class Workspaces {
  readonly #parts: WorkspacesParts;

  constructor(parts: WorkspacesParts) {
    this.#parts = parts;
  }

  /**
   * The workspace of a device, marked as used; of nobody, where there is none to name, it is `default`. A device that has
   * none gets a new one. One whose workspace is gone from the disk gets it anew under the same id: its sessions and the
   * other devices that share it know it by that. Of calls at the same time, from any process, all get the same.
   */
  async resolve(deviceId: string | null): Promise<Workspace> {
    if (deviceId === null) return await this.use(defaultWorkspaceId);
    const { bindings } = this.#parts;
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

  /** A workspace by its id, marked as used; `default` is made where it is missing. Throws `workspace_unknown`. */
  async use(id: string): Promise<Workspace> {
    const known = await this.#used(id);
    if (known !== null) return known;
    if (id !== defaultWorkspaceId) throw unknown(id);
    await this.#makeMissing(id);
    return (await this.#used(id)) ?? (await this.find(id));
  }

  /** Marks it as used, as a turn in it does. What is not there is not made: false. */
  async touch(id: string): Promise<boolean> {
    return isWorkspaceId(id) && (await this.#used(id)) !== null;
  }

  /** Without marking it as used. Throws `workspace_unknown`. */
  async find(id: string): Promise<Workspace> {
    const workspace = await this.#parts.store.load(id);
    if (workspace === null) throw unknown(id);
    return workspace;
  }

  async create(words: { name?: string | null; provider?: string | null } = {}): Promise<Workspace> {
    return await this.#parts.store.create({ id: randomUUID(), ...words, at: this.#parts.now() });
  }

  /** The one that was used last is the first. */
  async list(): Promise<Workspace[]> {
    const workspaces = await this.#parts.store.list();
    return workspaces.toSorted(
      (one, other) => other.lastAccessedAt - one.lastAccessedAt || (one.id < other.id ? -1 : 1),
    );
  }

  async devices(): Promise<Binding[]> {
    return await this.#parts.bindings.list();
  }

  /**
   * Its devices are unbound, its transcripts go, and then all of it. Its sessions stay. Throws `workspace_unknown`, and
   * `workspace_busy` while a turn runs there: that would write into what is going.
   */
  async delete(id: string, { isRunning }: Pick<GcRequest, "isRunning">): Promise<void> {
    const mayGo = async (): Promise<boolean> => {
      if (!(await isRunning(id))) return true;
      const mend = "wait for its end, or stop it (aptove session interrupt), and try again";
      throw new AptoveError("workspace_busy", `a turn is running in the workspace ${id}; ${mend}`);
    };
    if (!(await this.#takeAway(id, mayGo))) throw unknown(id);
  }

  /**
   * Deletes workspaces that nobody has used for long, and gives them. Never `default`, one with a running turn, one that
   * was used lately, or that somebody is changing right now, or that is damaged: that is for a person to look at. What was
   * stale before is looked at again when its turn comes, so a use in between saves it.
   */
  async gc({ maxAgeDays, dryRun, isRunning }: GcRequest): Promise<Workspace[]> {
    const staleBefore = this.#parts.now() - Math.max(maxAgeDays * dayMs, limits.recentUseMs);
    const isStale = async ({ id, lastAccessedAt, damage }: Workspace): Promise<boolean> =>
      id !== defaultWorkspaceId && damage === null && lastAccessedAt < staleBefore && !(await isRunning(id));
    const collected: Workspace[] = [];
    for (const workspace of await this.list()) {
      if (!(await isStale(workspace))) continue;
      if (dryRun || (await this.#takeAwayUnlessBusy(workspace.id, isStale))) collected.push(workspace);
    }
    return collected;
  }

  async #takeAwayUnlessBusy(id: string, mayGo: (workspace: Workspace) => Promise<boolean>): Promise<boolean> {
    try {
      return await this.#takeAway(id, mayGo);
    } catch (error) {
      if (error instanceof AptoveError && error.code === "workspace_busy") return false;
      throw error;
    }
  }

  /** In this order nothing points to what is gone, wherever it ends (W6). */
  async #takeAway(id: string, mayGo: (workspace: Workspace) => Promise<boolean>): Promise<boolean> {
    const { store, bindings, transcripts } = this.#parts;
    return await store.delete(id, async (workspace) => {
      if (!(await mayGo(workspace))) return false;
      await bindings.unbindWorkspace(id);
      await transcripts.locked(id, () => transcripts.removeAll(id));
      return true;
    });
  }

  /** Null: there is none. A mark that is young enough is left as it is, to spare the disk. */
  async #used(id: string): Promise<Workspace | null> {
    const { store, now } = this.#parts;
    const workspace = await store.load(id);
    const at = now();
    if (workspace === null || at - workspace.lastAccessedAt < limits.useMarkMs) return workspace;
    return (await store.touch(id, at)) ? { ...workspace, lastAccessedAt: at } : null;
  }

  async #makeMissing(id: string): Promise<void> {
    const { store, now } = this.#parts;
    if ((await store.load(id)) !== null) return;
    try {
      await store.create({ id, at: now() });
    } catch (error) {
      // Somebody else was quicker.
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
