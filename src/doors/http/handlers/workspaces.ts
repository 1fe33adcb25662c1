/** Handlers for workspaces, their transcripts and their permissions (W1, W5, W6, P4). */
import { withoutNullish } from "../../../protocol/given.ts";
import { toWirePermission, toWireWorkspace } from "../../../protocol/workspaces/workspace.ts";
import { answer, type HandlerDependencies, type RouteHandlers } from "./handler.ts";

type WorkspaceRoute = "listWorkspaces" | "createWorkspace" | "getWorkspace" | "deleteWorkspace";
type KeptRoute = "getTranscript" | "correctTranscript" | "listPermissions" | "forgetPermission";

export function workspaceHandlers({
  engine: {
    workspaceSessions: { workspaces },
  },
}: HandlerDependencies): RouteHandlers<WorkspaceRoute | KeptRoute> {
  return {
    listWorkspaces: async ({ caller }) =>
      answer("listWorkspaces", { workspaces: (await workspaces.list(caller)).map(toWireWorkspace) }),
    createWorkspace: async ({ caller, body }) =>
      answer("createWorkspace", toWireWorkspace(await workspaces.create(caller, withoutNullish(body)))),
    getWorkspace: async ({ caller, params: { workspace } }) =>
      answer("getWorkspace", toWireWorkspace(await workspaces.get(caller, workspace))),
    deleteWorkspace: async ({ caller, params: { workspace: workspaceId }, query: { unusedSince } }) => {
      const seen = unusedSince === undefined ? {} : { unusedSince: Date.parse(unusedSince) };
      await workspaces.delete(caller, { workspaceId, ...seen });
      return new Response(null, { status: 204 });
    },
    getTranscript: async ({ caller, params: { workspace } }) =>
      answer("getTranscript", await workspaces.transcript(caller, workspace)),
    correctTranscript: async ({ caller, params: { workspace: workspaceId }, body }) =>
      answer("correctTranscript", await workspaces.correctTranscript(caller, { workspaceId, ...body })),
    listPermissions: async ({ caller, params: { workspace } }) => {
      const permissions = await workspaces.permissions(caller, workspace);
      return answer("listPermissions", { permissions: permissions.map(toWirePermission) });
    },
    forgetPermission: async ({ caller, params: { workspace: workspaceId }, query: { key } }) => {
      await workspaces.forgetPermission(caller, { workspaceId, key });
      return new Response(null, { status: 204 });
    },
  };
}
