/** The workspaces that a command works on: those of this machine's data, or those of the named server. */
import { AptoveApiError, type AptoveClient } from "../../../client/client.ts";
import { isoTime } from "../../../domain/ids.ts";
import type { ManagedWorkspaces } from "../../../domain/workspace.ts";
import type { CliInvocation } from "../invocation.ts";

export type ReachedWorkspaces = {
  workspaces: Omit<ManagedWorkspaces["workspaces"], "find">;
  permissions: ManagedWorkspaces["permissions"];
};

export async function reachedWorkspaces(invocation: CliInvocation): Promise<ReachedWorkspaces> {
  if (invocation.server() === null) return await invocation.workspaces();
  return workspacesOf(await invocation.client());
}

function workspacesOf({ workspaces }: AptoveClient): ReachedWorkspaces {
  return {
    workspaces: {
      listBound: async () => (await workspaces.list()).map(withTimes),
      create: async (words) => withTimes(await workspaces.create(withoutNull(words))),
      // The server knows which turns run.
      delete: (id, { unusedSince }) =>
        workspaces.delete(id, unusedSince === undefined ? {} : { unusedSince: isoTime(unusedSince) }),
    },
    permissions: {
      list: async (id) =>
        (await workspaces.permissions(id)).map(({ key, allowedAt }) => ({ key, allowedAt: Date.parse(allowedAt) })),
      forget: async (id, key) => {
        try {
          await workspaces.forgetPermission(id, key);
          return true;
        } catch (error) {
          if (error instanceof AptoveApiError && error.code === "not_found") return false;
          throw error;
        }
      },
    },
  };
}

type WireWorkspace = Awaited<ReturnType<AptoveClient["workspaces"]["get"]>>;

function withTimes({ createdAt, lastAccessedAt, transcript: _transcript, ...workspace }: WireWorkspace) {
  return { ...workspace, createdAt: Date.parse(createdAt), lastAccessedAt: Date.parse(lastAccessedAt) };
}

function withoutNull({ name, provider }: { name?: string | null; provider?: string | null }) {
  return { ...(name != null && { name }), ...(provider != null && { provider }) };
}
