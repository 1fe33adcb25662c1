/**
 * The contract for the store of workspaces (W1). A workspace holds one person's or device's configuration, transcript,
 * permissions and state of MCP servers. A store makes no decisions; workspaces.ts has the operations on workspaces.
 *
 * What a driver must do:
 * - An id is `default` or a UUID of version 4 in lower case. Any other id throws `workspace_invalid` before it becomes a
 *   path. (Upper case too: on a file system that ignores case, two spellings would be one workspace with two locks.)
 * - When a call resolves, its change is stored completely and survives kill -9. Several processes may write at the same
 *   time, and none of their changes is lost (B4).
 * - No cache hides a change of another process.
 * - A damaged workspace throws `workspace_damaged` from every call that reads it, and is listed with `damage` set. Only
 *   `delete` changes it. A workspace of a newer version throws `data_newer`.
 * - For a workspace that does not exist, `load` returns null, `touch` and `delete` return false, and every other call
 *   throws `workspace_unknown`.
 */

import { AptoveError } from "../domain/errors.ts";
import type { Millis } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";
import { isCreatedWorkspaceId, type Workspace } from "../domain/workspace.ts";

export interface WorkspaceStore {
  /** Creates a workspace with everything that W1 lists, empty. Throws `workspace_exists`, and `request_invalid` as `checkNames` does. */
  create(workspace: NewWorkspace): Promise<Workspace>;
  load(id: string): Promise<Workspace | null>;
  /** Returns all workspaces in any order. */
  list(): Promise<Workspace[]>;
  update(id: string, patch: { name?: string | null; provider?: string | null }): Promise<Workspace>;
  /** Stores the time of a use, unless a newer one is stored. */
  touch(id: string, at: Millis): Promise<boolean>;
  /**
   * Deletes everything of a workspace in one step, so that no process finds a part of it. Calls `prepare` first, with the
   * current workspace, while no other caller can change it. An error of `prepare` is thrown again; if it returns false, the
   * workspace stays. It may not call `update`, `touch`, `delete` or `changePermissions` of the same workspace, because they
   * would wait for it.
   */
  delete(id: string, prepare?: (workspace: Workspace) => Promise<boolean>): Promise<boolean>;
  /** Returns the text of its own `config.toml` with the path of the file. Null if it has none (W7). */
  loadConfig(id: string): Promise<WorkspaceConfig | null>;
  /** Returns the time of each permanent permission, by key. */
  permissions(id: string): Promise<Map<string, Millis>>;
  /** Changes the permissions. No other caller changes them while `change` runs. Throws `request_invalid` as `checkPermission` does. */
  changePermissions(id: string, change: (permissions: Map<string, Millis>) => void): Promise<void>;
}

/** A workspace's own `config.toml`. */
export interface WorkspaceConfig {
  text: string;
  /** The place that messages name: usually the path of the file. */
  place: string;
}

export interface NewWorkspace {
  id: string;
  name?: string | null;
  provider?: string | null;
  /** The current time, which becomes the time of creation and of the last use. */
  at: Millis;
}

/** The workspace of the terminal, and of an editor that names no device. It is made on first use. */
export const defaultWorkspaceId = "default";

export function isWorkspaceId(text: string): boolean {
  return text === defaultWorkspaceId || isCreatedWorkspaceId(text);
}

/** Throws `workspace_invalid` if the text is not the id of a workspace (W1). Drivers call it. */
export function checkWorkspaceId(text: string): void {
  if (isWorkspaceId(text)) return;
  const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
  throw new AptoveError("workspace_invalid", `${shown} is neither "default" nor a UUID of version 4 in lower case`);
}

/** Throws `request_invalid` if the name of a workspace or of its provider is not one line of text. Drivers call it. */
export function checkNames(words: { name?: string | null; provider?: string | null }): void {
  for (const [what, text] of Object.entries(words)) {
    if (text === null || text === undefined || isLine(text, limits.workspaceNameCharactersMax)) continue;
    const detail = `the ${what} of a workspace must be one line of 1 to ${limits.workspaceNameCharactersMax} characters`;
    throw new AptoveError("request_invalid", detail);
  }
}

/** Throws `request_invalid` for a permission key that could not be stored and read back unchanged. Drivers call it. */
export function checkPermission(key: string): void {
  if (key !== "" && key.length <= limits.fieldCharactersMax && key.isWellFormed()) return;
  const detail = `the key of a permission must have 1 to ${limits.fieldCharactersMax} characters of valid text`;
  throw new AptoveError("request_invalid", detail);
}

function isLine(text: string, charactersMax: number): boolean {
  return text.trim() !== "" && text.length <= charactersMax && text.isWellFormed() && !/\p{Cc}/u.test(text);
}
