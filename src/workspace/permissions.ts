/**
 * The permanent permissions of the tools in one workspace, which a person gave (P4). A key covers all calls that are
 * allowed together; the tools decide which calls have which key.
 */
import { AptoveError } from "../domain/errors.ts";
import type { Millis } from "../domain/ids.ts";
import type { RememberedPermission } from "../domain/workspace.ts";
import type { WorkspaceStore } from "./workspace-store.ts";

type Store = Pick<WorkspaceStore, "permissions" | "changePermissions">;

export class Permissions {
  readonly #store: Store;
  readonly #now: () => Millis;

  constructor(dependencies: { store: Store; now(): Millis }) {
    this.#store = dependencies.store;
    this.#now = dependencies.now;
  }

  /** Returns true if the key is allowed. A workspace that does not exist allows nothing. Throws `workspace_damaged`, which means not allowed too. */
  async isAllowed(workspaceId: string, key: string): Promise<boolean> {
    try {
      return (await this.#store.permissions(workspaceId)).has(key);
    } catch (error) {
      if (error instanceof AptoveError && error.code === "workspace_unknown") return false;
      throw error;
    }
  }

  /** Allows a key. The permission is durable when the call resolves. Throws `workspace_unknown`, and `request_invalid` for a key that cannot be stored. */
  async allow(workspaceId: string, key: string): Promise<void> {
    await this.#store.changePermissions(workspaceId, (permissions) => {
      if (!permissions.has(key)) permissions.set(key, this.#now());
    });
  }

  /** Returns the permissions, oldest first. Throws `workspace_unknown`. */
  async list(workspaceId: string): Promise<RememberedPermission[]> {
    const permissions = await this.#store.permissions(workspaceId);
    return [...permissions]
      .map(([key, allowedAt]) => ({ key, allowedAt }))
      .toSorted((one, other) => one.allowedAt - other.allowedAt || (one.key < other.key ? -1 : 1));
  }

  /** Removes a permission. Returns false if the key was not allowed. Throws `workspace_unknown`. */
  async forget(workspaceId: string, key: string): Promise<boolean> {
    let isForgotten = false;
    await this.#store.changePermissions(workspaceId, (permissions) => {
      isForgotten = permissions.delete(key);
    });
    return isForgotten;
  }
}
