/** Orgs, users and API keys in SQL (H4). */
import { sql, type Kysely, type Transaction } from "kysely";
import type { ApiKey, Org, User, UserPatch } from "../../domain/caller.ts";
import type { AgePage, KeyHolder, KeyQuery, RecordStore, UserUpdate } from "../record-store.ts";
import { inBatches } from "./batches.ts";
import { isUniqueViolation } from "./faults.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { ApiKeyRow, Tables, UserRow } from "./tables.ts";

type OrgRecords = Pick<RecordStore, "insertOrg" | "getOrg" | "listOrgs" | "updateOrg">;
type UserRecords = Pick<RecordStore, "insertUser" | "getUser" | "findUser" | "listUsers" | "updateUser">;
type KeyRecords = Pick<
  RecordStore,
  "insertKey" | "getKey" | "findKey" | "findKeys" | "listKeys" | "revokeKey" | "touchKey"
>;

export function peopleRecords(db: Kysely<Tables>, dialect: SqlDialect): OrgRecords & UserRecords & KeyRecords {
  return { ...orgRecords(db, dialect), ...userRecords(db, dialect), ...keyRecords(db) };
}

function orgRecords(db: Kysely<Tables>, dialect: SqlDialect): OrgRecords {
  return {
    async insertOrg(org) {
      await db.insertInto("orgs").values(orgToRow(org)).execute();
    },
    async getOrg(id) {
      const row = await db.selectFrom("orgs").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToOrg(row);
    },
    async listOrgs(page) {
      const rows = await db.selectFrom("orgs").selectAll().where(laterThan(page)).$call(oldestFirst(page)).execute();
      return rows.map(rowToOrg);
    },
    updateOrg: (id, patch) =>
      db.transaction().execute(async (tx) => {
        const held = tx.selectFrom("orgs").selectAll().where("id", "=", id).modifyEnd(dialect.hold("update"));
        const row = await held.executeTakeFirst();
        if (row === undefined) return null;
        const org = { ...rowToOrg(row), ...patch };
        await tx.updateTable("orgs").set(orgToRow(org)).where("id", "=", id).execute();
        return org;
      }),
  };
}

function userRecords(db: Kysely<Tables>, dialect: SqlDialect): UserRecords {
  return {
    async insertUser(user) {
      try {
        await db.insertInto("users").values(userToRow(user)).execute();
        return true;
      } catch (error) {
        if (isUniqueViolation(error) && (await isTaken(db, user))) return false;
        throw error;
      }
    },
    async getUser(id) {
      const row = await db.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToUser(row);
    },
    async findUser(orgId, by) {
      const users = db.selectFrom("users").selectAll().where("org_id", "=", orgId);
      const found =
        "email" in by ? users.where("email", "=", by.email) : users.where("external_id", "=", by.externalId);
      const row = await found.executeTakeFirst();
      return row === undefined ? null : rowToUser(row);
    },
    async listUsers({ orgId, ...page }) {
      const users = db.selectFrom("users").selectAll().where("org_id", "=", orgId);
      return (await users.where(laterThan(page)).$call(oldestFirst(page)).execute()).map(rowToUser);
    },
    async updateUser(orgId, id, patch) {
      try {
        return await db.transaction().execute((tx) => updateUser(tx, dialect, { orgId, id, patch }));
      } catch (error) {
        if (isUniqueViolation(error)) return { outcome: "taken" };
        throw error;
      }
    },
  };
}

async function isTaken(db: Kysely<Tables>, { id, orgId, email, externalId }: User): Promise<boolean> {
  const others = db.selectFrom("users").select("id").where("org_id", "=", orgId).where("id", "<>", id);
  const same = others.where((eb) => eb.or([eb("email", "=", email), eb("external_id", "=", externalId)]));
  return (await same.executeTakeFirst()) !== undefined;
}

/** All admins of the org are held, in one order, so that two who go at once are counted one after the other. */
async function updateUser(
  tx: Transaction<Tables>,
  dialect: SqlDialect,
  { orgId, id, patch }: { orgId: string; id: string; patch: UserPatch },
): Promise<UserUpdate> {
  const held = await tx
    .selectFrom("users")
    .selectAll()
    .where("org_id", "=", orgId)
    .where((eb) => eb.or([eb("id", "=", id), eb.and([eb("role", "=", "admin"), eb("disabled_at", "is", null)])]))
    .orderBy("id")
    .modifyEnd(dialect.hold("update"))
    .execute();
  const row = held.find((each) => each.id === id);
  if (row === undefined) return { outcome: "missing" };
  const user = { ...rowToUser(row), ...patch };
  const isAdmin = (each: Pick<User, "role" | "disabledAt">): boolean =>
    each.role === "admin" && each.disabledAt === null;
  const hasOther = held.some((each) => each.id !== id && each.role === "admin" && each.disabled_at === null);
  if (isAdmin(rowToUser(row)) && !isAdmin(user) && !hasOther) return { outcome: "last_admin" };
  await tx.updateTable("users").set(userToRow(user)).where("id", "=", id).execute();
  return { outcome: "updated", user };
}

function keyRecords(db: Kysely<Tables>): KeyRecords {
  return {
    async insertKey(key) {
      await db.insertInto("api_keys").values(keyToRow(key)).execute();
    },
    async getKey(id) {
      const row = await db.selectFrom("api_keys").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToKey(row);
    },
    async findKey(hash) {
      const row = await keyHolders(db).where("k.hash", "=", hash).executeTakeFirst();
      return row === undefined ? null : rowToHolder(row);
    },
    async findKeys(hashes) {
      const rows = await inBatches(hashes, (batch) => keyHolders(db).where("k.hash", "in", batch).execute());
      return rows.map(rowToHolder);
    },
    listKeys: (query) => listKeys(db, query),
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

/** One question for all that a request must know of its key: it is asked with every request. */
function keyHolders(db: Kysely<Tables>) {
  return db
    .selectFrom("api_keys as k")
    .innerJoin("users as u", "u.id", "k.user_id")
    .leftJoin("orgs as o", "o.id", "u.org_id")
    .selectAll("k")
    .select((eb) => [
      eb.ref("u.org_id").as("user_org_id"),
      eb.ref("u.created_at").as("user_created_at"),
      "u.role",
      "u.email",
      "u.external_id",
      "u.disabled_at",
      eb.ref("u.doc").as("user_doc"),
      eb.ref("o.created_at").as("org_created_at"),
      "o.suspended_at",
      eb.ref("o.doc").as("org_doc"),
    ]);
}

type HolderRow = Awaited<ReturnType<ReturnType<typeof keyHolders>["executeTakeFirstOrThrow"]>>;

function rowToHolder(row: HolderRow): KeyHolder {
  const {
    user_org_id: org_id,
    user_created_at: created_at,
    user_doc: doc,
    role,
    email,
    external_id,
    disabled_at,
  } = row;
  const user = rowToUser({ id: row.user_id, org_id, created_at, role, email, external_id, disabled_at, doc });
  const { org_created_at, suspended_at, org_doc } = row;
  const isStored = org_created_at !== null && org_doc !== null;
  const org = isStored ? rowToOrg({ id: org_id, created_at: org_created_at, suspended_at, doc: org_doc }) : null;
  return { key: rowToKey(row), user, org };
}

async function listKeys(
  db: Kysely<Tables>,
  { orgId, userId, ofDevices, unrevoked, ...page }: KeyQuery,
): Promise<ApiKey[]> {
  let select = db.selectFrom("api_keys").selectAll().where("org_id", "=", orgId).where(laterThan(page));
  if (userId !== undefined) select = select.where("user_id", "=", userId);
  if (ofDevices !== undefined) select = select.where("device_id", ofDevices ? "is not" : "is", null);
  if (unrevoked === true) select = select.where("revoked_at", "is", null);
  return (await select.$call(oldestFirst(page)).execute()).map(rowToKey);
}

function laterThan({ after }: AgePage) {
  return after === undefined ? sql<boolean>`1 = 1` : sql<boolean>`(created_at, id) > (${after.createdAt}, ${after.id})`;
}

function oldestFirst({ limit }: AgePage) {
  return <Q extends { orderBy(column: "created_at" | "id"): Q; limit(count: number): Q }>(select: Q): Q =>
    select.orderBy("created_at").orderBy("id").limit(limit);
}

function orgToRow({ id, createdAt, suspendedAt, ...doc }: Org): Tables["orgs"] {
  return { id, created_at: createdAt, suspended_at: suspendedAt, doc: JSON.stringify(doc) };
}

function rowToOrg({ id, created_at, suspended_at, doc }: Tables["orgs"]): Org {
  return { id, createdAt: created_at, suspendedAt: suspended_at, ...(JSON.parse(doc) as Pick<Org, "name">) };
}

function userToRow({ id, orgId, createdAt, role, email, externalId, disabledAt, ...doc }: User): UserRow {
  return {
    id,
    org_id: orgId,
    created_at: createdAt,
    role,
    email,
    external_id: externalId,
    disabled_at: disabledAt,
    doc: JSON.stringify(doc),
  };
}

function rowToUser(row: UserRow): User {
  const { name } = JSON.parse(row.doc) as Pick<User, "name">;
  return {
    id: row.id,
    orgId: row.org_id,
    name,
    email: row.email,
    externalId: row.external_id,
    role: row.role,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
  };
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
  const { name, prefix, expiresAt } = JSON.parse(row.doc) as Pick<ApiKey, "name" | "prefix" | "expiresAt">;
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    name,
    prefix,
    hash: row.hash,
    deviceId: row.device_id,
    createdAt: row.created_at,
    expiresAt,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  };
}
