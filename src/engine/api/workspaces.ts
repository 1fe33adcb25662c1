/** The workspaces of the data folder, as people manage them (W1, W5, W6, P4). */
import type { Caller } from "../../domain/caller.ts";
import type { ShownTranscript, TranscriptCorrection, TranscriptText } from "../../domain/transcript.ts";
import type { BoundWorkspace, RememberedPermission } from "../../domain/workspace.ts";

/**
 * Workspaces belong to those who run the server: for any other caller there are none, and for one that is restricted to a
 * workspace only that one exists. Each method with the id of a workspace throws `workspace_unknown` for one that does not exist for
 * the caller, `workspace_invalid` for what is no id, and `workspace_damaged`. A reader changes nothing (`forbidden`).
 */
export interface WorkspaceRegistry {
  /** Returns the last used first. Throws `bindings_damaged`. */
  list(caller: Caller): Promise<ListedWorkspace[]>;
  get(caller: Caller, id: string): Promise<ListedWorkspace>;
  /** Throws `forbidden` for a device and for those who do not run the server, `request_invalid`, `provider_unknown`. */
  create(caller: Caller, start: WorkspaceStart): Promise<ListedWorkspace>;
  /**
   * Unbinds the devices, and deletes the transcripts and everything else of the workspace. Its sessions stay. Throws `forbidden` for a
   * device, and `workspace_busy` while a turn runs there, or if it was used after `unusedSince`.
   */
  delete(caller: Caller, of: { workspaceId: string; unusedSince?: number | undefined }): Promise<void>;
  /** Returns what the tools may do without asking, oldest first. */
  permissions(caller: Caller, workspaceId: string): Promise<RememberedPermission[]>;
  /** Makes the tools ask again. Throws `not_found` if the key was not allowed. */
  forgetPermission(caller: Caller, of: { workspaceId: string; key: string }): Promise<void>;
  /** Returns the content of `session.md`. */
  transcript(caller: Caller, workspaceId: string): Promise<TranscriptText>;
  /**
   * Replaces the content of `session.md`, as an edit on the disk does: the next session of the workspace begins with it. Throws
   * `transcript_invalid`, and `transcript_changed` if the content is not what the person saw; then nothing was written.
   */
  correctTranscript(caller: Caller, of: TranscriptCorrection & { workspaceId: string }): Promise<TranscriptText>;
}

export interface WorkspaceStart {
  name?: string;
  provider?: string;
}

export interface ListedWorkspace extends BoundWorkspace {
  /** Null if it cannot be read, because the workspace is damaged. */
  transcript: ShownTranscript | null;
}
