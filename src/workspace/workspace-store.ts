/**
 * The contract for where workspaces are kept (W1): one person's or device's place for configuration, transcript and
 * the state of MCP servers. A store decides nothing; what a workspace is for is in workspaces.ts.
 *
 * - An id is a UUID of version 4, or `default`; anything else is `workspace_invalid`, before it becomes a path.
 * - `load` and `list` never give less in silence: a damaged workspace is `workspace_damaged` for `load`, and is listed
 *   with `damage` set.
 * - Every write is atomic, and safe beside other processes (B4).
 */
export interface WorkspaceStore {
  /** Throws `workspace_exists`. */
  create(workspace: { id: string; name?: string; provider?: string; at: number }): Promise<Workspace>;
  /** Null: there is none. */
  load(id: string): Promise<Workspace | null>;
  list(): Promise<Workspace[]>;
  update(id: string, patch: { name?: string; provider?: string | null }): Promise<Workspace>;
  /** Remembers that it was used; a newer mark is kept. */
  touch(id: string, at: number): Promise<void>;
  /** Everything of it. False: there was none. */
  delete(id: string): Promise<boolean>;
  /** Text of its own `config.toml`, with where it stands; null: it has none (W7). */
  loadConfig(id: string): Promise<{ text: string; place: string } | null>;
}

export interface Workspace {
  /** UUID v4, or `default`. */
  id: string;
  name: string | null;
  createdAt: number;
  lastAccessedAt: number;
  /** The workspace's lowest word on who answers: its own configuration wins over it (W7). */
  provider: string | null;
  /** What is wrong with it; null: nothing. */
  damage: string | null;
}
