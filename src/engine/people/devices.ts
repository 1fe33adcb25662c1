/** Devices. Each has its own token, which it gets for a pairing code and loses when it is revoked (P3). */
import { randomBytes } from "node:crypto";
import type { ApiKey, Caller } from "../../domain/caller.ts";
import {
  deviceIdForm,
  isDeviceId,
  pairingAlphabet,
  pairingCodeLength,
  pairingCodeText,
  pairingLabel,
  shownPairingCode,
  type Device,
  type Pairing,
} from "../../domain/device.ts";
import { AptoveError } from "../../domain/errors.ts";
import { givenName } from "../../domain/given-name.ts";
import { isId, newId, sha256 } from "../../domain/ids.ts";
import { limits } from "../../domain/limits.ts";
import { noReader, scopedToDevice, noLimitedKey } from "../access/access.ts";
import { audited } from "../access/audit.ts";
import type { Devices } from "../engine.ts";
import { newSecret } from "./key-ring.ts";
import type { KeyWatch } from "./key-watch.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { mayWrite } from "../access/visible.ts";
import { knownWorkspaces } from "../sessions/workspace-sessions.ts";

export function devices(deps: EngineDependencies, watch: KeyWatch): Devices {
  return {
    pair: (caller, start = {}) =>
      audited(deps, { by: caller, action: "device.code", target: ({ id }) => id }, () => pair(deps, caller, start)),
    pairing: (caller, id) => pairing(deps, caller, id),
    claim: async (request) => {
      const claimed = await claim(deps, request);
      // A device that is paired again loses its former token.
      await watch.changed();
      return claimed;
    },
    list: async (caller) => (await tokensOf(deps, caller)).filter((one) => isSeenBy(caller, one)).map(deviceOf),
    revoke: async (caller, id) => {
      await audited(deps, { by: caller, action: "device.revoke", target: id }, () => revoke(deps, caller, id));
      await watch.changed();
    },
    scoped: (caller, deviceId) => scopedToDevice(deps, caller, deviceId),
    resolve: (caller, named) => resolve(deps, caller, named),
  };
}

async function pair(
  deps: EngineDependencies,
  caller: Caller,
  { workspaceId = null }: { workspaceId?: string | null },
): Promise<{ id: string; code: string; expiresAt: number }> {
  mayWrite(caller);
  if (caller.deviceId !== undefined)
    throw new AptoveError("forbidden", "a device may not pair another device; use an API key");
  noLimitedKey(caller, "pair devices");
  if (workspaceId !== null) await knownWorkspaces(deps, caller, workspaceId);
  // The alphabet has 32 characters: five bits of each byte choose every character equally often.
  const code = [...randomBytes(pairingCodeLength)].map((byte) => pairingAlphabet[byte & 31]).join("");
  const createdAt = deps.now();
  const id = newId();
  const expiresAt = createdAt + limits.pairingCodeMs;
  await deps.records.devices.insertCode({
    id,
    orgId: caller.orgId,
    userId: caller.userId,
    roleMax: caller.role,
    label: pairingLabel(code),
    hash: sha256(code),
    createdAt,
    expiresAt,
    triesLeft: limits.pairingTriesMax,
    claimedAt: null,
    keyId: null,
    workspaceId,
  });
  return { id, code: shownPairingCode(code), expiresAt };
}

async function pairing(deps: EngineDependencies, caller: Caller, id: string): Promise<Pairing> {
  const code = isId(id) ? await deps.records.devices.getCode(id) : null;
  if (code === null || code.userId !== caller.userId) {
    throw new AptoveError("not_found", `there is no pairing code ${JSON.stringify(id)}; it may have ended`);
  }
  const { expiresAt, keyId } = code;
  if (keyId !== null) {
    const key = await deps.records.keys.get(keyId);
    if (key !== null && isToken(key)) return { id, state: "claimed", expiresAt, device: deviceOf(key) };
  }
  const isOpen = code.triesLeft > 0 && expiresAt > deps.now();
  return { id, state: isOpen ? "open" : "ended", expiresAt, device: null };
}

async function claim(
  deps: EngineDependencies,
  { code, name, deviceId }: { code: string; name: string; deviceId?: string },
): Promise<{ device: Device; token: string }> {
  const token = newSecret();
  const text = pairingCodeText(code);
  const at = deps.now();
  const unused = { expiresAt: null, lastUsedAt: null, revokedAt: null, workspaceId: null, limits: null };
  const result = await deps.records.devices.claimCode({
    label: pairingLabel(text),
    hash: sha256(text),
    at,
    key: { id: newId(), name: givenName(name), ...token.kept, createdAt: at, ...unused },
    deviceIds: [...(deviceId !== undefined && isDeviceId(deviceId) ? [deviceId] : []), newId()],
  });
  if (result.outcome === "refused" || !isToken(result.key)) {
    throw new AptoveError(
      "pairing_refused",
      "the code is wrong, used or expired; make another one: aptove device pair",
    );
  }
  const { key } = result;
  const actor = { orgId: key.orgId, userId: key.userId, keyId: key.id };
  await audited(deps, { by: actor, action: "device.pair", target: key.id }, () => Promise.resolve());
  if (result.workspaceId !== null) await share(deps, result.key.deviceId, result.workspaceId);
  return { device: deviceOf(result.key), token: token.secret };
}

/**
 * Binds the device to the shared workspace. The code is used up by now, so a failure must not cost the device its
 * token.
 */
async function share({ workspaces, report }: EngineDependencies, deviceId: string, workspaceId: string): Promise<void> {
  try {
    await workspaces?.bind(deviceId, workspaceId);
  } catch (error) {
    report(`the device ${JSON.stringify(deviceId)} could not be bound to the workspace ${workspaceId}`, error);
  }
}

/**
 * Returns the caller's valid tokens. For an admin they are those of the whole org, because an admin may revoke any of
 * them.
 */
async function tokensOf(deps: EngineDependencies, caller: Caller): Promise<Token[]> {
  const seesAll = caller.role === "admin" && caller.deviceId === undefined;
  const keys = await deps.records.keys.list({
    orgId: caller.orgId,
    ...(!seesAll && { userId: caller.userId }),
    ofDevices: true,
    unrevoked: true,
    limit: limits.devicesListedMax,
  });
  return keys.filter(isToken);
}

function isSeenBy(caller: Caller, token: Token): boolean {
  return caller.deviceId === undefined || caller.deviceId === token.deviceId;
}

async function revoke(deps: EngineDependencies, caller: Caller, id: string): Promise<void> {
  noReader(caller, "revoke devices");
  const token = (await tokensOf(deps, caller)).find((each) => each.id === id);
  if (token === undefined) throw new AptoveError("not_found", `there is no device ${JSON.stringify(id)}`);
  // A person who finds a lost device must not lock its owner out of the others.
  if (caller.deviceId !== undefined && caller.deviceId !== token.deviceId) {
    throw new AptoveError("forbidden", "a device may revoke only itself; use an API key");
  }
  await deps.records.keys.update({ orgId: caller.orgId, id }, { revokedAt: deps.now() });
}

async function resolve(deps: EngineDependencies, caller: Caller, named: string | null): Promise<string | null> {
  if (named === null || named === caller.deviceId) return caller.deviceId ?? null;
  if (!isDeviceId(named)) {
    throw new AptoveError("request_invalid", `the id of a device must be ${deviceIdForm}`);
  }
  if (caller.deviceId !== undefined) {
    throw new AptoveError("device_refused", "the token does not belong to the device that the request names");
  }
  const owner = await deps.records.devices.register({
    deviceId: named,
    orgId: caller.orgId,
    userId: caller.userId,
    at: deps.now(),
  });
  if (owner.userId === caller.userId) return named;
  throw new AptoveError("device_refused", "the device belongs to another user; choose another id");
}

type Token = ApiKey & { deviceId: string };

function isToken(key: ApiKey): key is Token {
  return key.deviceId !== null;
}

function deviceOf({ id, deviceId, userId, name, createdAt, lastUsedAt }: Token): Device {
  return { id, deviceId, userId, name, createdAt, lastUsedAt };
}
