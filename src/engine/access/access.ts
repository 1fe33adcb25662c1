/**
 * What the role of a caller allows, whatever the session (H4, P3). What a caller may do with one session is in
 * visible.ts.
 */
import { runsTheServer, type Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { limits } from "../../domain/limits.ts";
import type { EngineDependencies } from "../dependencies.ts";

/**
 * Throws `forbidden` unless the caller is an admin who uses an API key. A device is refused too: a person who finds a
 * lost device must not control the org. `what` completes the sentence "only an admin may …".
 */
export function adminOnly(caller: Caller, what: string): void {
  if (caller.role !== "admin") throw new AptoveError("forbidden", `only an admin may ${what}; ask one of the org`);
  noDevice(caller, what);
}

/**
 * Throws `forbidden` for a reader. Call it before anything is looked up, so that the refusal does not reveal what
 * exists.
 */
export function noReader(caller: Caller, what: string): void {
  if (caller.role === "reader") throw new AptoveError("forbidden", `a reader may not ${what}; ask an admin of the org`);
}

/** Throws `forbidden` for a device: a person who finds a lost one must not destroy what others use. */
export function noDevice({ deviceId }: Caller, what: string): void {
  if (deviceId !== undefined) throw new AptoveError("forbidden", `a device may not ${what}; use an API key`);
}

/**
 * Throws `forbidden` unless the caller runs the server. Only the admins of the data's first org may do what concerns
 * all orgs.
 */
export function operatorOnly(caller: Caller, what: string): void {
  adminOnly(caller, what);
  if (runsTheServer(caller)) return;
  throw new AptoveError("forbidden", `only an admin of the server's first org may ${what}; ask one of them`);
}

/**
 * Returns true if the caller can use the workspaces of the data folder. For any other user, and for the admins of other
 * orgs, a workspace id is only a label: it gives no access to the keys of a provider, and writes no transcript (H4).
 */
export function ownsWorkspaces(caller: Caller): boolean {
  return runsTheServer(caller);
}

/**
 * Returns the caller, restricted to the workspace that the device is bound to. A caller without workspaces is
 * restricted to a label that belongs to the device (P3, W2).
 */
export async function scopedToDevice(deps: EngineDependencies, caller: Caller, deviceId: string): Promise<Caller> {
  const own = ownsWorkspaces(caller) ? await deps.workspaces?.ofDevice(deviceId) : undefined;
  return { ...caller, workspaceId: own ?? deviceLabel(deviceId) };
}

/** Does the same for a device that only listens: one without a workspace gets none until it sends a request. */
export async function scopedToBinding(deps: EngineDependencies, caller: Caller, deviceId: string): Promise<Caller> {
  const bound = ownsWorkspaces(caller) ? await deps.workspaces?.boundTo(deviceId) : undefined;
  return { ...caller, workspaceId: bound ?? deviceLabel(deviceId) };
}

/** Returns a label that no workspace has as its id. */
function deviceLabel(deviceId: string): string {
  return `device:${deviceId}`;
}

/** Throws `forbidden` for a key with limits of its own: what it makes would not have them (O4). */
export function noLimitedKey({ keyLimits }: Caller, what: string): void {
  if (keyLimits === undefined) return;
  throw new AptoveError("forbidden", `a key with limits of its own may not ${what}; use another key`);
}

/**
 * Returns the workspace of a request: the one that it names, else the only one of the caller. Throws
 * `workspace_unknown` if the caller may not use it.
 */
export function workspaceFor(caller: Caller, asked: string | null | undefined): string | null {
  const workspaceId = asked ?? caller.workspaceId ?? null;
  if (caller.workspaceId === undefined || workspaceId === caller.workspaceId) return workspaceId;
  throw unknownWorkspace(workspaceId);
}

/** Throws `workspace_unknown` if the caller may not use what belongs to the workspace, besides its sessions. */
export function ownWorkspace(caller: Caller, workspaceId: string): void {
  workspaceFor(caller, workspaceId);
  if (!ownsWorkspaces(caller)) throw unknownWorkspace(workspaceId);
}

export function unknownWorkspace(workspaceId: string | null): AptoveError {
  return new AptoveError("workspace_unknown", `there is no workspace ${JSON.stringify(workspaceId)}`);
}

/** Returns the workspace of a new session (O4). Throws `workspace_unknown` if the caller may not use it. */
export function workspaceOfNew(caller: Caller, asked: string | null | undefined): string | null {
  return workspaceFor(caller, asked ?? caller.workspaceId ?? caller.defaultWorkspaceId);
}

/** Returns the part of the store that a list of the caller may show (S7, P3). */
export function scopeOf({ orgId, userId, workspaceId }: Caller): {
  orgId: string;
  userId: string;
  workspaceId?: string;
} {
  return { orgId, userId, ...(workspaceId !== undefined && { workspaceId }) };
}

/** Returns a text that is the same for callers who may see and do the same. */
export function rightsOf(caller: Caller): string {
  return JSON.stringify([scopeOf(caller), caller.role]);
}

/** Returns the size of a page: the requested one within its bounds, or the default. */
export function pageLimit(asked: number | undefined): number {
  return Math.min(Math.max(1, asked ?? limits.pageSizeDefault), limits.pageSizeMax);
}
