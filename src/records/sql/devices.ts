/** Devices and pairing codes in SQL (P3). */
import type { Kysely, Transaction } from "kysely";
import type { ApiKey } from "../../domain/caller.ts";
import type { PairingCode } from "../../domain/device.ts";
import type { ClaimResult, DeviceOwner, DeviceRecords, PairingClaim } from "../devices.ts";
import { againIfUnknown } from "./faults.ts";
import { keyRecords, keyToRow } from "./keys.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { PairingCodeRow, Tables } from "./tables.ts";

export function deviceRecords(db: Kysely<Tables>, dialect: SqlDialect): DeviceRecords {
  return {
    async register(device) {
      // Nearly always the device has an owner already, and a read does not need the write lock.
      return (await findOwner(db, device)) ?? (await db.transaction().execute((tx) => ownDevice(tx, device)));
    },
    insertCode: (code) =>
      db.transaction().execute(async (tx) => {
        await tx.deleteFrom("pairing_codes").where("expires_at", "<=", code.createdAt).execute();
        await tx.insertInto("pairing_codes").values(codeToRow(code)).execute();
      }),
    async getCode(id) {
      const row = await db.selectFrom("pairing_codes").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToCode(row);
    },
    claimCode: (claim) => againIfUnknown(() => db.transaction().execute((tx) => claimCode(tx, dialect, claim))),
  };
}

/** Returns what an earlier attempt of the same claim did. Null: nothing. */
async function claimedBefore(tx: Transaction<Tables>, { hash, key }: PairingClaim): Promise<ClaimResult | null> {
  const code = await tx
    .selectFrom("pairing_codes")
    .select("workspace_id")
    .where("key_id", "=", key.id)
    .where("hash", "=", hash)
    .executeTakeFirst();
  // A wrong guess ends here.
  if (code === undefined) return null;
  const made = await keyRecords(tx).get(key.id);
  if (made?.hash !== key.hash) return null;
  return { outcome: "claimed", key: made, workspaceId: code.workspace_id };
}

/** Locks all open codes with the label for the whole transaction, so that simultaneous guesses are counted one by one. */
async function claimCode(tx: Transaction<Tables>, dialect: SqlDialect, claim: PairingClaim): Promise<ClaimResult> {
  const open = await tx
    .selectFrom("pairing_codes")
    .selectAll()
    .where("label", "=", claim.label)
    .where("claimed_at", "is", null)
    .where("tries_left", ">", 0)
    .where("expires_at", ">", claim.at)
    .orderBy("id")
    .modifyEnd(dialect.lockRows("update"))
    .execute();
  const code = open.find(({ hash }) => hash === claim.hash);
  if (code === undefined) {
    const before = await claimedBefore(tx, claim);
    if (before !== null) return before;
    await tx
      .updateTable("pairing_codes")
      .set((eb) => ({ tries_left: eb("tries_left", "-", 1) }))
      .where("label", "=", claim.label)
      .where("claimed_at", "is", null)
      .where("tries_left", ">", 0)
      .where("expires_at", ">", claim.at)
      .execute();
    return { outcome: "refused" };
  }
  const key = await insertToken(tx, rowToCode(code), claim);
  await tx
    .updateTable("pairing_codes")
    .set({ claimed_at: claim.at, key_id: key.id })
    .where("id", "=", code.id)
    .execute();
  return { outcome: "claimed", key, workspaceId: code.workspace_id };
}

async function insertToken(
  tx: Transaction<Tables>,
  { orgId, userId, roleMax }: PairingCode,
  { key, deviceIds, at }: PairingClaim,
): Promise<ApiKey> {
  const deviceId = await firstOwn(tx, deviceIds, { orgId, userId, at });
  if (deviceId !== null) {
    await tx
      .updateTable("api_keys")
      .set({ revoked_at: at })
      .where("device_id", "=", deviceId)
      .where("revoked_at", "is", null)
      .execute();
  }
  const token: ApiKey = { ...key, orgId, userId, roleMax, deviceId };
  await tx.insertInto("api_keys").values(keyToRow(token)).execute();
  return token;
}

async function firstOwn(
  tx: Transaction<Tables>,
  deviceIds: readonly string[],
  user: Omit<DeviceOwner, "deviceId">,
): Promise<string | null> {
  for (const deviceId of deviceIds) {
    if ((await ownDevice(tx, { deviceId, ...user })).userId === user.userId) return deviceId;
  }
  return null;
}

async function ownDevice(tx: Transaction<Tables>, device: DeviceOwner): Promise<DeviceOwner> {
  const { deviceId, orgId, userId, at } = device;
  await tx
    .insertInto("devices")
    .values({ id: deviceId, org_id: orgId, user_id: userId, first_used_at: at })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
  return (await findOwner(tx, device)) ?? device;
}

async function findOwner(db: Kysely<Tables>, { deviceId }: DeviceOwner): Promise<DeviceOwner | null> {
  const row = await db.selectFrom("devices").selectAll().where("id", "=", deviceId).executeTakeFirst();
  return row === undefined ? null : { deviceId, orgId: row.org_id, userId: row.user_id, at: row.first_used_at };
}

function codeToRow(code: PairingCode): PairingCodeRow {
  return {
    id: code.id,
    org_id: code.orgId,
    user_id: code.userId,
    hash: code.hash,
    created_at: code.createdAt,
    expires_at: code.expiresAt,
    tries_left: code.triesLeft,
    claimed_at: code.claimedAt,
    key_id: code.keyId,
    workspace_id: code.workspaceId,
    label: code.label,
    role_max: code.roleMax,
  };
}

function rowToCode(row: PairingCodeRow): PairingCode {
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    hash: row.hash,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    triesLeft: row.tries_left,
    claimedAt: row.claimed_at,
    keyId: row.key_id,
    workspaceId: row.workspace_id,
    label: row.label,
    roleMax: row.role_max,
  };
}
