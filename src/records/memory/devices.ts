/** Devices and pairing codes in memory. */
import type { ApiKey } from "../../domain/caller.ts";
import type { PairingCode } from "../../domain/device.ts";
import type { ClaimResult, DeviceOwner, DeviceRecords, PairingClaim } from "../devices.ts";
import { insert, type Rows } from "./rows.ts";

export function deviceRecords(rows: Rows): DeviceRecords {
  return {
    async register(device) {
      return ownerOf(rows, device);
    },
    async insertCode(code) {
      for (const [id, { expiresAt }] of rows.pairingCodes) {
        if (expiresAt <= code.createdAt) rows.pairingCodes.delete(id);
      }
      insert(rows.pairingCodes, code.id, code);
    },
    async getCode(id) {
      return rows.pairingCodes.get(id) ?? null;
    },
    async claimCode(claim) {
      const open = [...rows.pairingCodes.values()].filter(
        (code) => code.label === claim.label && isOpen(code, claim.at),
      );
      const code = open.find(({ hash }) => hash === claim.hash);
      if (code === undefined) {
        const before = claimedBefore(rows, claim);
        if (before !== null) return before;
        for (const each of open) rows.pairingCodes.set(each.id, { ...each, triesLeft: each.triesLeft - 1 });
        return { outcome: "refused" };
      }
      const key = tokenFor(rows, code, claim);
      rows.pairingCodes.set(code.id, { ...code, claimedAt: claim.at, keyId: key.id });
      return { outcome: "claimed", key, workspaceId: code.workspaceId };
    },
  };
}

/** Returns what an earlier call with the same claim did. Null: nothing. */
function claimedBefore(rows: Rows, { hash, key }: PairingClaim): ClaimResult | null {
  const made = rows.keys.get(key.id);
  const code = [...rows.pairingCodes.values()].find((each) => each.keyId === key.id && each.hash === hash);
  if (made?.hash !== key.hash || code === undefined) return null;
  return { outcome: "claimed", key: made, workspaceId: code.workspaceId };
}

function isOpen(code: PairingCode, at: number): boolean {
  return code.claimedAt === null && code.triesLeft > 0 && code.expiresAt > at;
}

function tokenFor(rows: Rows, { orgId, userId, roleMax }: PairingCode, { key, deviceIds, at }: PairingClaim): ApiKey {
  const isOwn = (deviceId: string): boolean => ownerOf(rows, { deviceId, orgId, userId, at }).userId === userId;
  const token: ApiKey = { ...key, orgId, userId, roleMax, deviceId: deviceIds.find(isOwn) ?? null };
  for (const former of rows.keys.values()) {
    const isFormer = former.deviceId !== null && former.deviceId === token.deviceId && former.revokedAt === null;
    if (isFormer) rows.keys.set(former.id, { ...former, revokedAt: at });
  }
  insert(rows.keys, token.id, token);
  return token;
}

function ownerOf(rows: Rows, device: DeviceOwner): DeviceOwner {
  const owner = rows.devices.get(device.deviceId) ?? device;
  rows.devices.set(device.deviceId, owner);
  return owner;
}
