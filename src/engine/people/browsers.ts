/**
 * Browsers that sign in to the page (U2). Each gets a key of its own, so that it can be listed and revoked like a device. The codes
 * that sign in are kept in memory: the process that makes a code is the one that the browser reaches, and a code that is
 * lost with the process is made again.
 */
import { randomBytes } from "node:crypto";
import { browserSecretPrefix, isBrowserKey, type ApiKey, type Caller, type Role } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { givenName } from "../../domain/given-name.ts";
import { newId, sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { noReader, noLimitedKey } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import type { EngineDependencies } from "../dependencies.ts";
import type { BrowserIdentities, IdentityAnswer } from "../../identity/identity-provider.ts";
import type { Browsers } from "../engine.ts";
import { admitted } from "./identified-caller.ts";
import { devices } from "./devices.ts";
import { authenticate, newSecret } from "./key-ring.ts";
import type { KeyUses } from "./key-uses.ts";
import type { KeyWatch } from "./key-watch.ts";

/** How many codes may be open at once. */
const openCodesMax = 100;

interface OpenCode {
  caller: Caller;
  expiresAt: number;
}

export function browsers(deps: EngineDependencies, watch: KeyWatch, uses: KeyUses): Browsers {
  /** The open codes by their hash, the oldest first. */
  const codes = new Map<string, OpenCode>();
  return {
    code: (caller) => audited(deps, { by: caller, action: "browser.code" }, async () => newCode(deps, codes, caller)),
    signIn: async (proof, wanted) => {
      const name = givenName(wanted);
      if ("pairingCode" in proof) {
        const { device, token } = await devices(deps, watch).claim({ code: proof.pairingCode, name });
        return { keyId: device.id, secret: token, expiresAt: null };
      }
      const isIdentified = "identity" in proof;
      const caller = isIdentified
        ? await callerAtProvider(deps, watch, proof.identity)
        : await callerOf(deps, { codes, uses }, proof);
      const signedIn = audited(deps, { by: caller, action: "browser.sign_in", target: ({ keyId }) => keyId }, () =>
        newBrowserKey(deps, caller, {
          name,
          lifetimeMs: isIdentified ? limits.identitySignInMs : limits.browserSignInMs,
        }),
      );
      return await signedIn;
    },
    identityProvider: () => deps.identities?.browsers?.name ?? null,
    beginAtIdentityProvider: (redirectUri) => providerOf(deps).begin(redirectUri),
    signOut: async (caller) => {
      const key = caller.keyId === undefined ? null : await deps.records.keys.get(caller.keyId);
      if (key === null || !(isBrowserKey(key) || key.deviceId !== null)) return;
      await audited(deps, { by: caller, action: "browser.sign_out", target: key.id }, () =>
        deps.records.keys.update({ orgId: caller.orgId, id: key.id }, { revokedAt: deps.now() }),
      );
      await watch.changed();
    },
  };
}

function newCode(
  { now }: EngineDependencies,
  codes: Map<string, OpenCode>,
  caller: Caller,
): { code: string; expiresAt: number } {
  noReader(caller, "sign in a browser with a code");
  if (caller.deviceId !== undefined) {
    throw new AptoveError("forbidden", "a device may not sign in a browser; use an API key");
  }
  noLimitedKey(caller, "sign in a browser");
  const code = randomBytes(16).toString("base64url");
  const expiresAt = now() + limits.signInCodeMs;
  for (const [hash, open] of codes) if (open.expiresAt <= now()) codes.delete(hash);
  // A caller who makes codes without end loses the oldest ones.
  for (const hash of codes.keys()) if (codes.size >= openCodesMax) codes.delete(hash);
  codes.set(sha256(code), { caller, expiresAt });
  return { code, expiresAt };
}

/** Returns the caller that the proof belongs to. A code is spent, whether or not it is still valid. */
async function callerOf(
  deps: EngineDependencies,
  { codes, uses }: { codes: Map<string, OpenCode>; uses: KeyUses },
  proof: { code: string } | { key: string },
): Promise<Caller> {
  if ("code" in proof) {
    const open = codes.get(sha256(proof.code));
    codes.delete(sha256(proof.code));
    const user = open === undefined ? null : await deps.records.people.getUser(open.caller.userId);
    const isOpen = open !== undefined && open.expiresAt > deps.now() && user?.disabledAt === null;
    if (isOpen) return open.caller;
    throw new AptoveError(
      "sign_in_refused",
      "the address was used before, or is too old; print a new one: aptove page",
    );
  }
  const caller = await authenticate(deps, uses, proof.key);
  if (caller === null) throw new AptoveError("sign_in_refused", "the key is unknown, revoked or expired");
  if (caller.keyLimits !== undefined) {
    throw new AptoveError("sign_in_refused", "a key with limits of its own signs in no browser; use another key");
  }
  if (caller.keyId === undefined || caller.deviceId !== undefined) {
    throw new AptoveError("sign_in_refused", "a browser signs in with an API key, not with the token of a device");
  }
  return caller;
}

function providerOf({ identities }: EngineDependencies): BrowserIdentities {
  if (identities?.browsers !== undefined) return identities.browsers;
  throw new AptoveError("sign_in_refused", "browsers do not sign in at an identity provider here; set oidc.client_id");
}

/** Returns the caller that the provider's answer names. */
async function callerAtProvider(deps: EngineDependencies, watch: KeyWatch, answer: IdentityAnswer): Promise<Caller> {
  const who = await providerOf(deps).redeem(answer, deps.now());
  const caller = who === null ? null : await admitted(deps, who);
  if (who === null || caller === null) {
    throw new AptoveError(
      "sign_in_refused",
      "the identity provider let you in, but you have no account on this server; an admin can add you",
    );
  }
  return { ...caller, role: await roleAtProvider(deps, watch, { caller, role: who.role }) };
}

/**
 * Returns the role that the provider gives, after it was noted in the user's record: a browser's key lives longer than the token that
 * named the role, and has never more than the record says. The last admin stays one.
 */
async function roleAtProvider(
  deps: EngineDependencies,
  watch: KeyWatch,
  { caller, role }: { caller: Caller; role: Role | null },
): Promise<Role> {
  const user = await deps.records.people.getUser(caller.userId);
  if (role === null || user === null || user.role === role) return caller.role;
  const act = { by: caller, action: "user.role", target: user.id, facts: { role, by: "oidc" } } as const;
  await audited(deps, act, () => deps.records.people.updateUser(caller.orgId, user.id, { role }));
  await watch.changed();
  return role;
}

async function newBrowserKey(
  deps: EngineDependencies,
  caller: Caller,
  { name, lifetimeMs }: { name: string; lifetimeMs: number },
): Promise<{ keyId: string; secret: string; expiresAt: number }> {
  const { secret, kept } = newSecret(browserSecretPrefix);
  const createdAt = deps.now();
  const expiresAt = createdAt + lifetimeMs;
  const key: ApiKey = {
    id: newId(),
    orgId: caller.orgId,
    userId: caller.userId,
    name,
    ...kept,
    deviceId: null,
    roleMax: caller.role,
    workspaceId: null,
    limits: null,
    createdAt,
    expiresAt,
    lastUsedAt: null,
    revokedAt: null,
  };
  await deps.records.keys.insert(key);
  return { keyId: key.id, secret, expiresAt };
}
