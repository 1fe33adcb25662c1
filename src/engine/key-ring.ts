/** API keys and the person who owns a local data folder (H4). */
import { randomBytes } from "node:crypto";
import type { ApiKey, Caller } from "../domain/caller.ts";
import { AptoveError } from "../domain/errors.ts";
import { isId, newId, sha256 } from "../domain/ids.ts";
import type { KeyRing } from "./engine.ts";
import { isValid, type KeyWatch } from "./key-watch.ts";
import type { EngineParts } from "./parts.ts";

/** One org for now: the owner of a data folder and the keys that they make belong to it. */
const localOrgId = "00000000-0000-7000-8000-000000000001";
const localOwnerId = "00000000-0000-7000-8000-000000000002";

/** Recognisable in a log or a leaked file, and by the scanners that look for such things. */
const secretPrefix = "aptove_";

/** A key's last use is noted at most this often: a busy client must not cost a write per request. */
const touchEveryMs = 60_000;

export function keyRing(parts: EngineParts, watch: KeyWatch): KeyRing {
  return {
    create: (caller, key) => createKey(parts, caller, key),
    list: async (caller) => {
      adminOnly(caller);
      return await parts.records.listKeys(caller.orgId);
    },
    revoke: async (caller, id) => {
      adminOnly(caller);
      if (!isId(id) || !(await parts.records.revokeKey(caller.orgId, id, parts.now()))) {
        throw new AptoveError("not_found", `there is no key ${JSON.stringify(id)} that is in use`);
      }
      await watch.changed();
    },
    authenticate: (secret) => authenticate(parts, secret),
    watch: (secret, onEnd) => watch.add(secret, onEnd),
    owner: () => owner(parts),
  };
}

function adminOnly(caller: Caller): void {
  if (caller.role !== "admin") throw new AptoveError("forbidden", "only an admin may see or change keys");
  // A key that a lost device made would outlive the device's own token.
  if (caller.deviceId !== undefined) throw new AptoveError("forbidden", "a device may not see or change keys");
}

/** A new secret, and what is kept of it. */
export function newSecret(): { secret: string; kept: Pick<ApiKey, "prefix" | "hash"> } {
  const secret = secretPrefix + randomBytes(32).toString("base64url");
  return { secret, kept: { prefix: secret.slice(0, secretPrefix.length + 4), hash: sha256(secret) } };
}

async function createKey(
  parts: EngineParts,
  caller: Caller,
  { name, expiresAt }: { name: string; expiresAt?: number },
): Promise<{ key: ApiKey; secret: string }> {
  adminOnly(caller);
  const { secret, kept } = newSecret();
  const key: ApiKey = {
    id: newId(),
    orgId: caller.orgId,
    userId: caller.userId,
    name,
    ...kept,
    deviceId: null,
    createdAt: parts.now(),
    expiresAt: expiresAt ?? null,
    lastUsedAt: null,
    revokedAt: null,
  };
  await parts.records.insertKey(key);
  return { key, secret };
}

/** The hash of a secret of 256 random bits is looked up as it is: there is nothing to guess, and no timing to learn from. */
async function authenticate(parts: EngineParts, secret: string): Promise<Caller | null> {
  if (!secret.startsWith(secretPrefix)) return null;
  const key = await parts.records.findKey(sha256(secret));
  const now = parts.now();
  if (key === null || !isValid(key, now)) return null;
  const user = await parts.records.getUser(key.userId);
  if (user === null) return null;
  if (key.lastUsedAt === null || now - key.lastUsedAt > touchEveryMs) await parts.records.touchKey(key.id, now);
  const { deviceId } = key;
  return { orgId: user.orgId, userId: user.id, role: user.role, ...(deviceId !== null && { deviceId }) };
}

async function owner(parts: EngineParts): Promise<Caller & { name: string }> {
  const found = await parts.records.getUser(localOwnerId);
  if (found === null) await insertOwner(parts);
  return { orgId: localOrgId, userId: localOwnerId, role: found?.role ?? "admin", name: found?.name ?? "owner" };
}

async function insertOwner(parts: EngineParts): Promise<void> {
  try {
    await parts.records.insertUser({
      id: localOwnerId,
      orgId: localOrgId,
      name: "owner",
      role: "admin",
      createdAt: parts.now(),
    });
  } catch (error) {
    // Two processes that start on a new data folder at once both try; one of them is enough.
    if ((await parts.records.getUser(localOwnerId)) === null) throw error;
  }
}
