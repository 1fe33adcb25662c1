/** The caller who uses an API key, as the records have them now (H4). */
import { roleOf, type ApiKey, type Caller } from "../../domain/caller.ts";
import type { KeyHolder } from "../../records/record-store.ts";
import type { scopedToDevice } from "../access/access.ts";
import type { EngineDependencies } from "../dependencies.ts";

/**
 * Returns null if the key may not be used now: the key, its user or their org is not valid. `scoped` restricts the caller to the
 * workspace of a device. Throws `bindings_damaged`.
 */
export async function keyCaller(
  deps: EngineDependencies,
  holder: KeyHolder,
  scoped: typeof scopedToDevice,
): Promise<Caller | null> {
  if (!isValid(holder, deps.now())) return null;
  const { key, user } = holder;
  const caller: Caller = { orgId: user.orgId, userId: user.id, role: roleOf(holder), keyId: key.id, ...ofKey(key) };
  const { deviceId } = key;
  return deviceId === null ? caller : { ...(await scoped(deps, caller, deviceId)), deviceId };
}

function isValid({ key, user, org }: KeyHolder, now: number): boolean {
  const { revokedAt, expiresAt } = key;
  if (revokedAt !== null || (expiresAt !== null && expiresAt <= now)) return false;
  return user.disabledAt === null && org !== null && org.suspendedAt === null;
}

/** Returns what a key adds to its user (O4). */
function ofKey({ workspaceId, limits }: ApiKey): Pick<Caller, "defaultWorkspaceId" | "keyLimits"> {
  return {
    ...(workspaceId !== null && { defaultWorkspaceId: workspaceId }),
    ...(limits !== null && { keyLimits: limits }),
  };
}
