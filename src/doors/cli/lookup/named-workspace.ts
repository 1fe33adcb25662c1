/** The workspace that a command names: by its id, a part of one, or its name, on this machine and at another server. */
import { defaultWorkspaceId, isWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { CliInvocation } from "../invocation.ts";
import { findWorkspace, nullIfNotFound, thoseNamed } from "./find-by-id.ts";
import { reachedWorkspaces } from "./reached-workspaces.ts";

/** Returns the id of the workspace that a command works in. Without a text: `default`. */
export async function namedWorkspace(invocation: CliInvocation, text: string | undefined): Promise<string> {
  if (text === undefined || text === defaultWorkspaceId) return defaultWorkspaceId;
  if (invocation.server() !== null) return await workspaceOrLabel(invocation, text);
  const { workspaces } = await invocation.workspaces();
  return findWorkspace(await workspaces.list(), text).id;
}

/**
 * Returns the id of the workspace that the text names. A text that names none is returned as it is: sessions of a folder without git, and of
 * other clients, have any label, and only those who run a server can list its workspaces.
 */
export async function workspaceOrLabel(invocation: CliInvocation, text: string): Promise<string> {
  if (isWorkspaceId(text)) return text;
  const known = await knownWorkspaces(invocation);
  return thoseNamed(known, text).length === 0 ? text : findWorkspace(known, text).id;
}

async function knownWorkspaces(invocation: CliInvocation): Promise<{ id: string; name?: string | null }[]> {
  const { workspaces } = await reachedWorkspaces(invocation);
  return (await nullIfNotFound(workspaces.listBound(), "forbidden")) ?? [];
}
