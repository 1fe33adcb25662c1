/** What a caller may, before any session is looked at (H4, P3). What they may with a session is in sessions.ts. */
import { runsTheServer, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { EngineDependencies } from "../dependencies.ts";

/** `what` says what others may not. A device may not either: whoever found a lost one would hold the org. */
export function adminOnly(caller: Caller, what: string): void {
  if (caller.role !== "admin") throw new AptoveError("forbidden", `only an admin may ${what}; ask one of the org`);
  if (caller.deviceId !== undefined) throw new AptoveError("forbidden", `a device may not ${what}; use an API key`);
}

/** Asked first, before what is there is looked at: a reader is told nothing by a refusal. */
export function noReader(caller: Caller, what: string): void {
  if (caller.role === "reader") throw new AptoveError("forbidden", `a reader may not ${what}; ask an admin of the org`);
}

/** What is about all orgs at once is for those who run the program: the admins of the data's first org. */
export function operatorOnly(caller: Caller, what: string): void {
  adminOnly(caller, what);
  if (runsTheServer(caller)) return;
  throw new AptoveError("forbidden", `only whoever runs the server, an admin of its first org, may ${what}; ask them`);
}

/**
 * Workspaces are those of the data folder's owner: to anybody else, and to the admins of other orgs, their ids are labels
 * like any other, which give no provider's key away and write nothing down (H4).
 */
export function ownsWorkspaces(caller: Caller): boolean {
  return runsTheServer(caller);
}

/** The caller within a device's workspace: the one that it is bound to; of whoever has no workspaces, a label of its own (P3, W2). */
export async function scopedToDevice(deps: EngineDependencies, caller: Caller, deviceId: string): Promise<Caller> {
  const own = ownsWorkspaces(caller) ? await deps.workspaces?.ofDevice(deviceId) : undefined;
  return { ...caller, workspaceId: own ?? deviceLabel(deviceId) };
}

/** No workspace has such an id. */
function deviceLabel(deviceId: string): string {
  return `device:${deviceId}`;
}

/** The workspace that a request of the caller is about: the one that it names, else the caller's only one. Throws `workspace_unknown`. */
export function workspaceFor(caller: Caller, asked: string | null | undefined): string | null {
  const workspaceId = asked ?? caller.workspaceId ?? null;
  if (caller.workspaceId === undefined || workspaceId === caller.workspaceId) return workspaceId;
  throw new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(workspaceId)}`);
}

/** What of the store is asked about, for a list (S7, P3). */
export function scopeOf({ orgId, userId, workspaceId }: Caller): {
  orgId: string;
  userId: string;
  workspaceId?: string;
} {
  return { orgId, userId, ...(workspaceId !== undefined && { workspaceId }) };
}

export function pageLimit(asked: number | undefined): number {
  return Math.min(Math.max(1, asked ?? limits.pageSizeDefault), limits.pageSizeMax);
}
