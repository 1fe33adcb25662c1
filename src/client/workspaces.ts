/** The client's methods for workspaces, their transcripts and their permissions (W1, W5, W6, P4). */
import type { QueryOf } from "../protocol/routes/routes.ts";
import type {
  WirePermission,
  WireTranscript,
  WireTranscriptCorrection,
  WireWorkspace,
  WireWorkspaceStart,
} from "../protocol/workspaces/workspace.ts";
import type { FetchJson, SendRequest } from "./send.ts";

export interface WorkspaceMethods {
  /** Returns the workspaces that the caller may use, the last used first. */
  list(): Promise<WireWorkspace[]>;
  get(workspaceId: string): Promise<WireWorkspace>;
  create(start?: WireWorkspaceStart): Promise<WireWorkspace>;
  /** Deletes a workspace; its sessions stay. Throws `workspace_busy` while a turn runs there, or if it was used after `unusedSince`. */
  delete(workspaceId: string, conditions?: QueryOf<"deleteWorkspace">): Promise<void>;
  /** Returns the content of `session.md`. */
  transcript(workspaceId: string): Promise<WireTranscript>;
  /** Replaces the content of `session.md`. Throws `transcript_invalid`, and `transcript_changed` if its hash is not `expectedHash` any more. */
  correctTranscript(workspaceId: string, correction: WireTranscriptCorrection): Promise<WireTranscript>;
  /** Returns what the tools may do without asking, oldest first. */
  permissions(workspaceId: string): Promise<WirePermission[]>;
  /** Makes the tools ask again. Throws `not_found` if the key was not allowed. */
  forgetPermission(workspaceId: string, key: string): Promise<void>;
}

export function workspaceMethods(send: SendRequest, call: FetchJson): WorkspaceMethods {
  return {
    list: async () => (await call("listWorkspaces")).workspaces,
    get: (workspace) => call("getWorkspace", { params: { workspace } }),
    create: (body = {}) => call("createWorkspace", { body }),
    delete: async (workspace, query = {}) => void (await send("deleteWorkspace", { params: { workspace }, query })),
    transcript: (workspace) => call("getTranscript", { params: { workspace } }),
    correctTranscript: (workspace, body) => call("correctTranscript", { params: { workspace }, body }),
    permissions: async (workspace) => (await call("listPermissions", { params: { workspace } })).permissions,
    forgetPermission: async (workspace, key) =>
      void (await send("forgetPermission", { params: { workspace }, query: { key } })),
  };
}
