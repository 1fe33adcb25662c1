/** The routes of workspaces (W1, W5, W6, P4). Those of their memory are in memory.ts. */
import {
  permissionChoiceSchema,
  permissionListSchema,
  transcriptCorrectionSchema,
  transcriptSchema,
  workspaceDeletionSchema,
  workspaceListSchema,
  workspaceParamsSchema,
  workspaceSchema,
  workspaceStartSchema,
} from "../workspaces/workspace.ts";
import type { RouteName } from "./paths.ts";
import type { RouteSpec } from "./route-spec.ts";

/** What each route of one workspace, and of its memory, may answer. */
export const workspaceFaults = [
  "workspace_unknown",
  "workspace_invalid",
  "workspace_damaged",
  "workspace_busy",
  "data_newer",
  "storage_failed",
] as const;

export const workspaceRoutes = {
  listWorkspaces: {
    summary:
      "Lists the workspaces of the server, the last used first. For a caller who may use none, the list is empty.",
    access: "read",
    status: 200,
    answer: workspaceListSchema,
    errors: ["bindings_damaged", "data_newer", "storage_failed"],
  },
  createWorkspace: {
    summary: "Makes a workspace.",
    access: "admin",
    body: workspaceStartSchema,
    status: 201,
    answer: workspaceSchema,
    errors: ["provider_unknown", "storage_full", "storage_failed"],
  },
  getWorkspace: {
    summary: "Returns a workspace.",
    access: "read",
    params: workspaceParamsSchema,
    status: 200,
    answer: workspaceSchema,
    errors: ["bindings_damaged", ...workspaceFaults],
  },
  deleteWorkspace: {
    summary: "Deletes a workspace with its transcripts and settings, and unbinds its devices. Its sessions stay.",
    access: "write",
    params: workspaceParamsSchema,
    query: workspaceDeletionSchema,
    status: 204,
    errors: ["bindings_damaged", "storage_full", ...workspaceFaults],
  },
  getTranscript: {
    summary: "Returns the content of `session.md`, the conversation of the workspace's current session.",
    access: "read",
    params: workspaceParamsSchema,
    status: 200,
    answer: transcriptSchema,
    errors: workspaceFaults,
  },
  correctTranscript: {
    summary: "Replaces the content of `session.md`. The next session of the workspace begins with it.",
    access: "write",
    params: workspaceParamsSchema,
    body: transcriptCorrectionSchema,
    status: 200,
    answer: transcriptSchema,
    errors: ["transcript_invalid", "transcript_changed", "storage_full", ...workspaceFaults],
  },
  listPermissions: {
    summary: "Lists what the tools may do in a workspace without asking.",
    access: "read",
    params: workspaceParamsSchema,
    status: 200,
    answer: permissionListSchema,
    errors: workspaceFaults,
  },
  forgetPermission: {
    summary: "Removes a permission, so that the tools ask again.",
    access: "write",
    params: workspaceParamsSchema,
    query: permissionChoiceSchema,
    status: 204,
    errors: ["storage_full", ...workspaceFaults],
  },
} as const satisfies Partial<Record<RouteName, RouteSpec>>;
