/** Workspaces as people manage them (W1, W5, W6, P4). */
import type { Millis } from "./ids.ts";
import type { ShownTranscript, TranscriptCorrection, TranscriptText } from "./transcript.ts";

const createdId = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns true if the text can be the id of any workspace but `default`: a UUID of version 4 in lower case (W1). */
export function isCreatedWorkspaceId(text: string): boolean {
  return createdId.test(text);
}

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

/** The workspaces, permissions and transcripts of one data folder. */
export interface ManagedWorkspaces {
  workspaces: {
    /** Throws `workspace_unknown`, `workspace_invalid`, `workspace_damaged`. */
    find(id: string): Promise<Workspace>;
    /** Returns the workspaces with their devices, the last used first. Throws `bindings_damaged`. */
    listBound(): Promise<BoundWorkspace[]>;
    /** Throws `request_invalid` for a name that is not one line. */
    create(words: { name?: string | null; provider?: string | null }): Promise<Workspace>;
    /** Deletes a workspace and unbinds its devices (W6). Throws `workspace_unknown`, `workspace_busy`. */
    delete(id: string, conditions: WorkspaceDeletion): Promise<void>;
  };
  permissions: {
    /** Returns the permissions, oldest first. Throws `workspace_unknown`. */
    list(workspaceId: string): Promise<RememberedPermission[]>;
    /** Removes a permission. Returns false if the key was not allowed. Throws `workspace_unknown`. */
    forget(workspaceId: string, key: string): Promise<boolean>;
  };
  transcripts: {
    /** Returns facts about `session.md`. */
    show(workspaceId: string): Promise<ShownTranscript>;
    /** Returns the content of `session.md`. */
    read(workspaceId: string): Promise<TranscriptText>;
    /** Replaces `session.md` with what the person made of it. Throws `transcript_invalid`, `transcript_changed`. */
    correct(workspaceId: string, correction: TranscriptCorrection): Promise<TranscriptText>;
  };
}
