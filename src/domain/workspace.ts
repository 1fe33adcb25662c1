/** Workspaces as people manage them (W1, W5, W6, P4). */
import type { Millis } from "./ids.ts";

export interface Workspace {
  /** A UUID of version 4, or `default`. */
  id: string;
  name: string | null;
  createdAt: Millis;
  lastAccessedAt: Millis;
  /** The provider of the workspace. Its own configuration overrides it (W7). */
  provider: string | null;
  /** The damage and its fix. Null if the workspace is intact. Of a damaged workspace only the id is reliable: its times are those of its folder. */
  damage: string | null;
}

/** A workspace with the ids of the devices that are bound to it. */
export interface BoundWorkspace extends Workspace {
  devices: string[];
}

/** What the tools may do in a workspace without asking. */
export interface RememberedPermission {
  key: string;
  allowedAt: Millis;
}

/** The conditions of a deletion. */
export interface WorkspaceDeletion {
  /** Returns true if a turn of a session of this workspace is running. */
  isRunning(workspaceId: string): Promise<boolean>;
  /** Deletes only if the workspace was not used after this time. Absent: whenever it was used. */
  unusedSince?: Millis | undefined;
}
