/** API keys in SQL (H4). */
import type { Kysely } from "kysely";
import type { ApiKey } from "../../domain/caller.ts";
import type { KeyHolder, KeyQuery, KeyRecords } from "../keys.ts";
import { inBatches } from "./batches.ts";
import { laterThan, oldestFirst, rowToOrg, rowToUser } from "./people.ts";
import type { ApiKeyRow, Tables } from "./tables.ts";

export function keyRecords(db: Kysely<Tables>): KeyRecords {
  return {
    async insert(key) {
      await db.insertInto("api_keys").values(keyToRow(key)).execute();
    },
    async get(id) {
      const row = await db.selectFrom("api_keys").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : rowToKey(row);
    },
    async find(hashes) {
      const rows = await inBatches(hashes, (batch) => keyHolders(db).where("k.hash", "in", batch).execute());
      return rows.map(rowToHolder);
    },
    list: (query) => listKeys(db, query),
    async update({ orgId, id }, { lastUsedAt, revokedAt }) {
      const { numUpdatedRows } = await db
        .updateTable("api_keys")
        .set({
          // An update sets at least one column.
          org_id: orgId,
          ...(lastUsedAt !== undefined && { last_used_at: lastUsedAt }),
          ...(revokedAt !== undefined && { revoked_at: revokedAt }),
        })
        .where("id", "=", id)
        .where("org_id", "=", orgId)
        .$if(revokedAt !== undefined, (update) => update.where("revoked_at", "is", null))
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
  };
}

/** Selects everything that a request must know about its key in one query, because this runs with every request. */
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
  type Doc = Pick<ApiKey, "name" | "prefix" | "expiresAt"> &
    Partial<Pick<ApiKey, "roleMax" | "workspaceId" | "limits">>;
  const { name, prefix, expiresAt, roleMax = null, workspaceId = null, limits = null } = JSON.parse(row.doc) as Doc;
  return {
    id: row.id,
    orgId: row.org_id,
    userId: row.user_id,
    name,
    prefix,
    hash: row.hash,
    deviceId: row.device_id,
    roleMax,
    workspaceId,
    limits,
    createdAt: row.created_at,
    expiresAt,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  };
}
