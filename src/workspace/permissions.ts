/**
 * What somebody allowed the tools for ever, in one workspace (P4). A key stands for all that is allowed together; which
 * calls have which key is the tools' to say.
 */
import { AptoveError } from "../domain/errors.ts";
import type { Millis } from "../domain/ids.ts";
import type { WorkspaceStore } from "./workspace-store.ts";

export interface RememberedPermission {
  key: string;
  allowedAt: Millis;
}

type Store = Pick<WorkspaceStore, "permissions" | "changePermissions">;

export class Permissions {
  readonly #store: Store;
  readonly #now: () => Millis;

  constructor(parts: { store: Store; now(): Millis }) {
    this.#store = parts.store;
    this.#now = parts.now;
  }

  /** A workspace that is not there allows nothing. Throws `workspace_damaged`, which is no yes either. */
  async isAllowed(workspaceId: string, key: string): Promise<boolean> {
    try {
      return (await this.#store.permissions(workspaceId)).has(key);
    } catch (error) {
      if (error instanceof AptoveError && error.code === "workspace_unknown") return false;
      throw error;
    }
  }

  /** Durable when it resolves. Throws `workspace_unknown`, and `request_invalid` for a key that cannot be kept. */
  async allow(workspaceId: string, key: string): Promise<void> {
    await this.#store.changePermissions(workspaceId, (permissions) => {
      if (!permissions.has(key)) permissions.set(key, this.#now());
    });
  }

  /** The oldest first. Throws `workspace_unknown`. */
  async list(workspaceId: string): Promise<RememberedPermission[]> {
    const permissions = await this.#store.permissions(workspaceId);
    return [...permissions]
      .map(([key, allowedAt]) => ({ key, allowedAt }))
      .toSorted((one, other) => one.allowedAt - other.allowedAt || (one.key < other.key ? -1 : 1));
  }

  /** False: it was not allowed. Throws `workspace_unknown`. */
  async forget(workspaceId: string, key: string): Promise<boolean> {
    let isForgotten = false;
    await this.#store.changePermissions(workspaceId, (permissions) => {
      isForgotten = permissions.delete(key);
    });
    return isForgotten;
  }
}
