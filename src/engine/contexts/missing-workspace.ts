/**
 * A turn whose workspace this server does not have (W1). An id of a workspace may be a label, so the turn runs, but the person learns
 * that nothing of the workspace counts: several servers have the same workspaces only if they share a data folder.
 */
import type { Caller } from "../../domain/caller.ts";
import type { Warning } from "../../domain/errors.ts";
import { isCreatedWorkspaceId } from "../../domain/workspace.ts";
import { ownsWorkspaces } from "../access/access.ts";
import type { EngineDependencies, WorkspaceSettings } from "../dependencies.ts";

interface AskedWorkspace {
  caller: Caller;
  workspaceId: string | null;
  /** What `settingsOf` found for it. */
  settings: WorkspaceSettings;
}

/** Returns the id if it is that of a workspace which this server does not have. Null: it is there, or the id is only a label. */
export function missingWorkspace(
  deps: EngineDependencies,
  { caller, workspaceId, settings }: AskedWorkspace,
): string | null {
  if (workspaceId === null || settings !== deps || deps.workspaces === undefined) return null;
  return ownsWorkspaces(caller) && isCreatedWorkspaceId(workspaceId) ? workspaceId : null;
}

/** Returns the warning, and the mark with which later turns of the same history do not repeat it. */
export function missingWorkspaceNews(
  workspaceId: string | null,
  warned: ReadonlySet<string>,
): { warnings: Warning[]; warned: string[] } {
  const mark = `workspace_missing ${workspaceId}`;
  if (workspaceId === null || warned.has(mark)) return { warnings: [], warned: [] };
  const message = `this server has no workspace ${workspaceId}, so the turn has nothing of its configuration, memory, skills and transcript; it was deleted, or it is in the data folder of another server`;
  return { warnings: [{ code: "workspace_missing", message }], warned: [mark] };
}
