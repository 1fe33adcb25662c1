/** Users and API keys in SQL (H4). */
import type { Kysely } from "kysely";
import type { ApiKey, User } from "../../domain/caller.ts";
import type { RecordStore } from "../record-store.ts";
import type { ApiKeyRow, Tables } from "./tables.ts";

type PeopleRecords = Pick<
  RecordStore,
  "insertUser" | "getUser" | "listUsers" | "insertKey" | "findKey" | "listKeys" | "revokeKey" | "touchKey"
>;

export function peopleRecords(db: Kysely<Tables>): PeopleRecords {
  return {
    async insertUser({ id, orgId, createdAt, ...doc }) {
      const row = { id, org_id: orgId, created_at: createdAt, doc: JSON.stringify(doc) };
      await db.insertInto("users").values(row).execute();
    },
    async getUser(id) {
      const row = await db.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToUser(row);
    },
    async listUsers(orgId) {
      const rows = await db
        .selectFrom("users")
        .selectAll()
        .where("org_id", "=", orgId)
        .orderBy("created_at")
        .orderBy("id")
        .execute();
      return rows.map(rowToUser);
    },
    async insertKey(key) {
      await db.insertInto("api_keys").values(keyToRow(key)).execute();
    },
    async findKey(hash) {
      const row = await db.selectFrom("api_keys").selectAll().where("hash", "=", hash).executeTakeFirst();
      return row === undefined ? null : rowToKey(row);
    },
    async listKeys(orgId) {
      const rows = await db
        .selectFrom("api_keys")
        .selectAll()
        .where("org_id", "=", orgId)
        .orderBy("created_at")
        .orderBy("id")
        .execute();
      return rows.map(rowToKey);
    },
    async revokeKey(orgId, id, at) {
      const { numUpdatedRows } = await db
        .updateTable("api_keys")
        .set({ revoked_at: at })
        .where("id", "=", id)
        .where("org_id", "=", orgId)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    async touchKey(id, at) {
      await db.updateTable("api_keys").set({ last_used_at: at }).where("id", "=", id).execute();
    },
  };
}

function rowToUser(row: Tables["users"]): User {
  const doc = JSON.parse(row.doc) as Pick<User, "name" | "role">;
  return { id: row.id, orgId: row.org_id, createdAt: row.created_at, ...doc };
}

export function keyToRow({
  id,
  orgId,
  userId,
  deviceId,
  hash,
  createdAt,
  lastUsedAt,
  revokedAt,
  ...doc
}: ApiKey): ApiKeyRow {
  return {
    id,
    org_id: orgId,
    user_id: userId,
    device_id: deviceId,
    hash,
    created_at: createdAt,
    last_used_at: lastUsedAt,
    revoked_at: revokedAt,
    doc: JSON.stringify(doc),
  };
}

function rowToKey(row: ApiKeyRow): ApiKey {
  const doc = JSON.parse(row.doc) as Pick<ApiKey, "name" | "prefix" | "expiresAt">;
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    deviceId: row.device_id,
    hash: row.hash,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    ...doc,
  };
}
