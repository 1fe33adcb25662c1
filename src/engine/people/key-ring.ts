/** API keys, and the owner of a local data folder (H4). */
import { randomBytes } from "node:crypto";
import { localOrgId, operatorId, secretPrefix, type ApiKey, type Caller, type User } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { givenName } from "../../domain/given-name.ts";
import { isId, newId, sha256 } from "../../domain/ids.ts";
import { adminOnly, noLimitedKey, noReader, ownsWorkspaces, scopedToDevice } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import { identifiedCaller } from "./identified-caller.ts";
import type { KeyRing, KeyStart } from "../engine.ts";
import { knownWorkspaces } from "../sessions/workspace-sessions.ts";
import { keyCaller } from "./key-caller.ts";
import type { KeyUses } from "./key-uses.ts";
import type { KeyWatch } from "./key-watch.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { pageBy, userOfOrg } from "./people.ts";

/** The user who owns a data folder from its first start. */
const localOwnerId = "00000000-0000-7000-8000-000000000002";

export function keyRing(deps: EngineDependencies, watch: KeyWatch, uses: KeyUses): Omit<KeyRing, "browsers"> {
  return {
    create: (caller, key) =>
      audited(
        deps,
        { by: caller, action: "key.create", target: (made) => made.key.id, facts: ownerFact(caller, key.userId) },
        () => createKey(deps, caller, key),
      ),
    list: async (caller, { userId, ...page } = {}) => {
      noDevice(caller);
      const whose = caller.role === "admin" ? userId : caller.userId;
      if (userId !== undefined && userId !== whose) return { keys: [], next: null };
      const { rows, next } = await pageBy(page, (asked) =>
        deps.records.keys.list({ ...asked, orgId: caller.orgId, ...(whose !== undefined && { userId: whose }) }),
      );
      return { keys: rows, next };
    },
    revoke: async (caller, id) => {
      await audited(deps, { by: caller, action: "key.revoke", target: id }, () => revokeKey(deps, caller, id));
      await watch.changed();
    },
    authenticate: (secret) => authenticate(deps, uses, secret),
    watch: ({ secret, ...visitor }, onEnd) => watch.add(secret, { ...visitor, onEnd }),
    owner: () => owner(deps),
  };
}

/** Returns the user that a key is made for, as a fact for the audit log. */
function ownerFact(caller: Caller, userId = caller.userId): Record<string, string> {
  return userId !== operatorId && isId(userId) ? { userId } : {};
}

/** Throws `forbidden` for a device. A key made by a lost device would outlive the device's own token. */
function noDevice(caller: Caller): void {
  if (caller.deviceId !== undefined)
    throw new AptoveError("forbidden", "a device may not see or change keys; use an API key");
}

async function revokeKey({ records, now }: EngineDependencies, caller: Caller, id: string): Promise<void> {
  noDevice(caller);
  noReader(caller, "revoke keys");
  const key = isId(id) ? await records.keys.get(id) : null;
  const isTheirs = key?.orgId === caller.orgId && (caller.role === "admin" || key.userId === caller.userId);
  if (!isTheirs || !(await records.keys.update({ orgId: caller.orgId, id }, { revokedAt: now() }))) {
    throw new AptoveError("not_found", `there is no key ${JSON.stringify(id)} that is in use`);
  }
}

function isKey(secret: string): boolean {
  return secret.startsWith(secretPrefix);
}

/** Returns a new secret, and the part of it that is stored. */
export function newSecret(prefix = secretPrefix): { secret: string; kept: Pick<ApiKey, "prefix" | "hash"> } {
  const secret = prefix + randomBytes(32).toString("base64url");
  return { secret, kept: { prefix: secret.slice(0, prefix.length + 4), hash: sha256(secret) } };
}

async function createKey(
  deps: EngineDependencies,
  caller: Caller,
  { name, userId = caller.userId, ...start }: KeyStart,
): Promise<{ key: ApiKey; secret: string }> {
  const { expiresAt = null, workspaceId = null, limits = null } = start;
  noDevice(caller);
  noReader(caller, "make keys");
  noLimitedKey(caller, "make keys");
  if (userId === operatorId) throw new AptoveError("request_invalid", "name the user of the key: --user <user>");
  if (userId !== caller.userId) await mayMakeKeysFor(deps, caller, userId);
  if (expiresAt !== null && expiresAt <= deps.now()) {
    throw new AptoveError("request_invalid", "the key must expire in the future");
  }
  // For anyone else a workspace is only a label.
  if (workspaceId !== null && ownsWorkspaces(caller)) await knownWorkspaces(deps, caller, workspaceId);
  const { secret, kept } = newSecret();
  const key: ApiKey = {
    id: newId(),
    orgId: caller.orgId,
    userId,
    name: givenName(name),
    ...kept,
    deviceId: null,
    roleMax: caller.role,
    workspaceId,
    limits,
    createdAt: deps.now(),
    expiresAt,
    lastUsedAt: null,
    revokedAt: null,
  };
  await deps.records.keys.insert(key);
  return { key, secret };
}

async function mayMakeKeysFor(deps: EngineDependencies, caller: Caller, userId: string): Promise<void> {
  adminOnly(caller, "make keys for another user");
  const { disabledAt } = await userOfOrg(deps, caller, userId);
  if (disabledAt === null) return;
  throw new AptoveError("request_invalid", "the user is disabled; enable them first: aptove user enable <user>");
}

/**
 * Returns the caller that a secret belongs to. The hash is looked up directly: a secret of 256 random bits cannot be
 * guessed, and the time of a lookup reveals nothing about it.
 */
export async function authenticate(deps: EngineDependencies, uses: KeyUses, secret: string): Promise<Caller | null> {
  if (!isKey(secret)) return await identifiedCaller(deps, secret);
  const [holder] = await deps.records.keys.find([sha256(secret)]);
  const caller = holder === undefined ? null : await keyCaller(deps, holder, scopedToDevice);
  if (holder === undefined || caller === null) return null;
  await uses.note(holder.key);
  return caller;
}

async function owner(deps: EngineDependencies): Promise<Caller & { name: string }> {
  const found = await deps.records.people.getUser(localOwnerId);
  if (found === null) await insertOwner(deps);
  return { orgId: localOrgId, userId: localOwnerId, role: found?.role ?? "admin", name: found?.name ?? "owner" };
}

/** Adds the owner. If two processes start on a new data folder at once, both try and one succeeds. */
async function insertOwner({ records, now }: EngineDependencies): Promise<void> {
  const createdAt = now();
  try {
    await records.people.insertOrg({ id: localOrgId, name: "local", createdAt, suspendedAt: null });
  } catch (error) {
    if ((await records.people.getOrg(localOrgId)) === null) throw error;
  }
  const unknown = { email: null, externalId: null, disabledAt: null };
  try {
    const user: User = { id: localOwnerId, orgId: localOrgId, name: "owner", role: "admin", createdAt, ...unknown };
    await records.people.insertUser(user);
  } catch (error) {
    if ((await records.people.getUser(localOwnerId)) === null) throw error;
  }
}
