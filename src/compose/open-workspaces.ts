/** The workspaces of a data folder, with all that belongs to them, in its files but where a store was brought (Y1). */
import type { Millis } from "../domain/ids.ts";
import type { BindingStore } from "../workspace/binding-store.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import { fileBindings } from "../workspace/files/file-bindings.ts";
import { fileTranscripts } from "../workspace/files/file-transcripts.ts";
import { fileWorkspaces } from "../workspace/files/file-workspaces.ts";
import type { OpenedWorkspaces } from "../workspace/opened-workspaces.ts";
import { Permissions } from "../workspace/permissions.ts";
import type { TranscriptStore } from "../workspace/transcript-store.ts";
import type { WorkspaceStore } from "../workspace/workspace-store.ts";
import { Workspaces } from "../workspace/workspaces.ts";

export interface WorkspaceSurroundings {
  /** In place of the files of the data folder (Y1). */
  store?: WorkspaceStore | undefined;
  bindings?: BindingStore | undefined;
  transcripts?: TranscriptStore | undefined;
  now?(): Millis;
}

/** Touches nothing, and there is nothing to close: each call opens what it needs. */
export function openWorkspaces(folder: DataFolder, brought: WorkspaceSurroundings = {}): OpenedWorkspaces {
  const {
    store = fileWorkspaces(folder),
    bindings = fileBindings(folder),
    transcripts = fileTranscripts(folder),
    now = Date.now,
  } = brought;
  return {
    workspaces: new Workspaces({ store, bindings, transcripts, now }),
    permissions: new Permissions({ store, now }),
    store,
    bindings,
    transcripts,
  };
}
