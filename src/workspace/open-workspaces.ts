/** The workspaces of a data folder, with all that belongs to them, on the drivers that keep them there. */
import type { Millis } from "../domain/ids.ts";
import type { BindingStore } from "./binding-store.ts";
import type { DataFolder } from "./data-folder.ts";
import { fileBindings } from "./files/file-bindings.ts";
import { fileTranscripts } from "./files/file-transcripts.ts";
import { fileWorkspaces } from "./files/file-workspaces.ts";
import { Permissions } from "./permissions.ts";
import type { TranscriptStore } from "./transcript-store.ts";
import type { WorkspaceStore } from "./workspace-store.ts";
import { Workspaces } from "./workspaces.ts";

export interface OpenedWorkspaces {
  workspaces: Workspaces;
  permissions: Permissions;
  store: WorkspaceStore;
  bindings: BindingStore;
  transcripts: TranscriptStore;
}

/** Touches nothing, and there is nothing to close: each call opens what it needs. */
export function openWorkspaces(folder: DataFolder, now: () => Millis = Date.now): OpenedWorkspaces {
  const [store, bindings, transcripts] = [fileWorkspaces(folder), fileBindings(folder), fileTranscripts(folder)];
  return {
    workspaces: new Workspaces({ store, bindings, transcripts, now }),
    permissions: new Permissions({ store, now }),
    store,
    bindings,
    transcripts,
  };
}
