/** The workspaces of a data folder, with their bindings, permissions and transcripts. They are files, unless the caller gives a store (Y1). */
import type { FactStore } from "../domain/fact.ts";
import type { Millis } from "../domain/ids.ts";
import type { BindingStore } from "../workspace/binding-store.ts";
import type { DataFolder } from "../configuration/data-folder.ts";
import { fileFacts } from "../workspace/files/file-facts.ts";
import { fileBindings } from "../workspace/files/file-bindings.ts";
import { fileTranscripts } from "../workspace/files/file-transcripts.ts";
import { fileWorkspaces } from "../workspace/files/file-workspaces.ts";
import type { OpenedWorkspaces } from "../workspace/opened-workspaces.ts";
import { Permissions } from "../workspace/permissions.ts";
import type { TranscriptStore } from "../workspace/transcript-store.ts";
import type { WorkspaceStore } from "../workspace/workspace-store.ts";
import { Workspaces } from "../workspace/workspaces.ts";

export interface OpenWorkspacesOptions {
  /** Replaces the files of the data folder (Y1). */
  store?: WorkspaceStore | undefined;
  bindings?: BindingStore | undefined;
  transcripts?: TranscriptStore | undefined;
  facts?: FactStore | undefined;
  now?(): Millis;
}

/** Opens no file, and needs no closing: each later call opens what it needs. */
export function openWorkspaces(folder: DataFolder, given: OpenWorkspacesOptions = {}): OpenedWorkspaces {
  const {
    store = fileWorkspaces(folder),
    bindings = fileBindings(folder),
    transcripts = fileTranscripts(folder),
    facts = fileFacts(folder),
    now = Date.now,
  } = given;
  return {
    workspaces: new Workspaces({ store, bindings, transcripts, now }),
    permissions: new Permissions({ store, now }),
    store,
    bindings,
    transcripts,
    facts,
  };
}
