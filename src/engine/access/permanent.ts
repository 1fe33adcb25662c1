/**
 * What a person may allow permanently, wherever they answer (P4, U8). A permission is stored as an editor's or a chat's is: the exact
 * key of the call, in the permissions of the session's workspace.
 */
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { AlwaysOffer, ClientCallView, NotAlways, ToolPermission } from "../../domain/tool.ts";
import type { Turn } from "../../domain/turn.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { ownsWorkspaces } from "./access.ts";

interface PermanentCall {
  /** The workspace of the session. */
  workspaceId: string | null;
  permission: ToolPermission | null;
}

/** Returns what the caller may allow permanently about a call that this engine runs, or why not. */
export async function alwaysOffer(
  { workspaces }: EngineDependencies,
  caller: Caller,
  { workspaceId, permission }: PermanentCall,
): Promise<AlwaysOffer> {
  if (permission === null) return { not: "each_time" };
  if (caller.deviceId !== undefined) return { not: "device" };
  if (workspaceId === null || workspaces?.permissions === undefined) return { not: "no_workspace" };
  // For other callers the id of a workspace is only a label.
  if (!ownsWorkspaces(caller)) return { not: "not_yours" };
  if ((await workspaces.settings(workspaceId)) === null) return { not: "no_workspace" };
  return { label: permission.label, scope: "workspace" };
}

/** The same for a call that a client will run, which stores the permission itself. It belongs to the person at that client. */
export function clientAlwaysOffer(caller: Caller, turn: Turn, view: ClientCallView): AlwaysOffer {
  if (view.always === undefined) return { not: "each_time" };
  if (caller.deviceId !== undefined) return { not: "device" };
  return caller.userId === turn.createdBy ? view.always : { not: "not_yours" };
}

const reasons: Record<NotAlways, string> = {
  each_time: "such a call is asked each time",
  no_workspace: "the session has no workspace that could keep it",
  not_yours: "the permission would count where only another person may give it",
  device: "a device may allow a call once only",
};

/** Throws `forbidden` if the caller may not allow the call permanently. */
export function mayAlways(offer: AlwaysOffer): void {
  if ("not" in offer) throw new AptoveError("forbidden", `${reasons[offer.not]}; allow it once`);
}

/** Returns true if a person has allowed such calls permanently. If that cannot be read, they have not. */
export async function isAlwaysAllowed(
  { workspaces, report }: EngineDependencies,
  caller: Caller,
  { workspaceId, permission }: PermanentCall,
): Promise<boolean> {
  if (permission === null || workspaceId === null || !ownsWorkspaces(caller)) return false;
  try {
    return (await workspaces?.permissions?.isAllowed(workspaceId, permission.key)) ?? false;
  } catch (error) {
    report("the permissions of the workspace could not be read, so a person is asked", error);
    return false;
  }
}

/** Stores the permission. If that fails, the call is allowed once. */
export async function allowAlways(
  { workspaces, report }: EngineDependencies,
  { workspaceId, permission }: PermanentCall,
): Promise<void> {
  if (permission === null || workspaceId === null) return;
  try {
    await workspaces?.permissions?.allow(workspaceId, permission.key);
  } catch (error) {
    report("a permanent permission could not be stored; people will be asked again", error);
  }
}
