/**
 * The contract for where workspaces are kept (W1): one person's or device's place for configuration, transcript,
 * permissions and the state of MCP servers. A store decides nothing; what is done with workspaces is in workspaces.ts.
 *
 * What a driver must do:
 * - An id is `default` or a UUID of version 4 in lower case; anything else is `workspace_invalid`, before it becomes a
 *   path. (Upper case too: where a file system takes both for one name, two spellings would be one workspace with two
 *   locks.)
 * - What a call has written is there when it resolves, whole, and survives kill -9. Several processes may write at the
 *   same time, and no change of theirs is lost (B4).
 * - Nothing is cached over another process's change.
 * - A damaged workspace is `workspace_damaged` for whatever reads it, and is listed with `damage` set; nothing but
 *   `delete` is done to it. One of a newer version is `data_newer`.
 * - A workspace that is not there is null for `load`, false for `touch` and `delete`, else `workspace_unknown`.
 */

import { AptoveError } from "../domain/errors.ts";
import type { Millis } from "../domain/ids.ts";
import { limits } from "../domain/limits.ts";

export interface WorkspaceStore {
  /** With everything that W1 lists, empty. Throws `workspace_exists`, and `request_invalid` as `checkWords` does. */
  create(workspace: NewWorkspace): Promise<Workspace>;
  load(id: string): Promise<Workspace | null>;
  /** In any order. */
  list(): Promise<Workspace[]>;
  update(id: string, patch: { name?: string | null; provider?: string | null }): Promise<Workspace>;
  /** Remembers that it was used; a newer mark is kept. */
  touch(id: string, at: Millis): Promise<boolean>;
  /**
   * Everything of it, at once: nobody finds a part. `prepare` is called before, with the workspace as it is then, while
   * nobody else can change it; what it throws is thrown on, and where it says false the workspace stays. It may call
   * neither `update`, `touch`, `delete` nor `changePermissions` of the same workspace: they would wait for it.
   */
  delete(id: string, prepare?: (workspace: Workspace) => Promise<boolean>): Promise<boolean>;
  /** Text of its own `config.toml`, with where it stands; null: it has none (W7). */
  loadConfig(id: string): Promise<{ text: string; place: string } | null>;
  /** What was allowed for ever, by key, with when. */
  permissions(id: string): Promise<Map<string, Millis>>;
  /** Stores what `change` makes of the permissions as they are; nobody else changes them meanwhile. Throws `request_invalid` as `checkPermission` does. */
  changePermissions(id: string, change: (permissions: Map<string, Millis>) => void): Promise<void>;
}

export interface NewWorkspace {
  id: string;
  name?: string | null;
  provider?: string | null;
  /** Now, for both of its times. */
  at: Millis;
}

export interface Workspace {
  /** UUID v4, or `default`. */
  id: string;
  name: string | null;
  createdAt: Millis;
  lastAccessedAt: Millis;
  /** The workspace's lowest word on who answers: its own configuration wins over it (W7). */
  provider: string | null;
  /** What is wrong with it, and what to do; null: nothing. Of a damaged one only the id counts: the times are those of its folder. */
  damage: string | null;
}

/** The workspace of the terminal, and of an editor that names no device; made when it is first needed. */
export const defaultWorkspaceId = "default";

const idPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export function isWorkspaceId(text: string): boolean {
  return text === defaultWorkspaceId || idPattern.test(text);
}

/** For drivers: throws `workspace_invalid` for what is not the id of a workspace (W1). */
export function checkWorkspaceId(text: string): void {
  if (isWorkspaceId(text)) return;
  const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
  throw new AptoveError("workspace_invalid", `${shown} is neither "default" nor a UUID of version 4 in lower case`);
}

/** For drivers: throws `request_invalid` where the name of a workspace or of its provider is no line of text. */
export function checkWords(words: { name?: string | null; provider?: string | null }): void {
  for (const [what, text] of Object.entries(words)) {
    if (text === null || text === undefined || isLine(text, limits.workspaceNameCharactersMax)) continue;
    const detail = `the ${what} of a workspace must be one line of 1 to ${limits.workspaceNameCharactersMax} characters`;
    throw new AptoveError("request_invalid", detail);
  }
}

/** For drivers: throws `request_invalid` for the key of a permission that could not be read back as it was. */
export function checkPermission(key: string): void {
  if (key !== "" && key.length <= limits.fieldCharactersMax && key.isWellFormed()) return;
  const detail = `what is allowed for ever must be named by 1 to ${limits.fieldCharactersMax} characters of text`;
  throw new AptoveError("request_invalid", detail);
}

function isLine(text: string, charactersMax: number): boolean {
  return text.trim() !== "" && text.length <= charactersMax && text.isWellFormed() && !/\p{Cc}/u.test(text);
}
