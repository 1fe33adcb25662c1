/** The workspaces of a data folder with their stores. Another module chooses the drivers of the stores. */
import type { FactStore } from "../domain/fact.ts";
import type { BindingStore } from "./binding-store.ts";
import type { Permissions } from "./permissions.ts";
import type { TranscriptStore } from "./transcript-store.ts";
import type { WorkspaceStore } from "./workspace-store.ts";
import type { Workspaces } from "./workspaces.ts";

export interface OpenedWorkspaces {
  workspaces: Workspaces;
  permissions: Permissions;
  store: WorkspaceStore;
  bindings: BindingStore;
  transcripts: TranscriptStore;
  facts: FactStore;
}
