/** The workspace that a command names. */
import { defaultWorkspaceId } from "../../../workspace/workspace-store.ts";
import type { CliInvocation } from "../invocation.ts";
import { findWorkspace } from "./find-by-id.ts";

/** Returns the workspace with this id, a part of one, or a name. On another server only its id is known. */
export async function namedWorkspace(invocation: CliInvocation, text: string | undefined): Promise<string> {
  const isExact = text === undefined || text === defaultWorkspaceId || invocation.server() !== null;
  if (isExact) return text ?? defaultWorkspaceId;
  const { workspaces } = await invocation.workspaces();
  return findWorkspace(await workspaces.list(), text).id;
}
