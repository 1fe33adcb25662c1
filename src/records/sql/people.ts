/** Orgs and users in SQL (H4). */
import { sql, type Kysely, type Transaction } from "kysely";
import type { Org, User, UserPatch } from "../../domain/caller.ts";
import { storedName } from "../../domain/given-name.ts";
import type { AgePage, PeopleRecords, UserUpdate } from "../people.ts";
import { isUniqueViolation } from "./faults.ts";
import type { SqlDialect } from "./sql-dialect.ts";
import type { Tables, UserRow } from "./tables.ts";

type OrgRecords = Pick<PeopleRecords, "insertOrg" | "getOrg" | "listOrgs" | "updateOrg">;
type UserRecords = Omit<PeopleRecords, keyof OrgRecords>;

export function peopleRecords(db: Kysely<Tables>, dialect: SqlDialect): PeopleRecords {
  return { ...orgRecords(db, dialect), ...userRecords(db, dialect) };
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
        const held = tx.selectFrom("orgs").selectAll().where("id", "=", id).modifyEnd(dialect.lockRows("update"));
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

/** Locks all admins of the org, always in the same order, so that two simultaneous changes are counted one after the other. */
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
    .modifyEnd(dialect.lockRows("update"))
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

export function laterThan({ after }: AgePage) {
  return after === undefined ? sql<boolean>`1 = 1` : sql<boolean>`(created_at, id) > (${after.createdAt}, ${after.id})`;
}

export function oldestFirst({ limit }: AgePage) {
  return <Q extends { orderBy(column: "created_at" | "id"): Q; limit(count: number): Q }>(select: Q): Q =>
    select.orderBy("created_at").orderBy("id").limit(limit);
}

export function orgToRow({ id, createdAt, suspendedAt, ...doc }: Org): Tables["orgs"] {
  return { id, created_at: createdAt, suspended_at: suspendedAt, doc: JSON.stringify(doc) };
}

export function rowToOrg({ id, created_at, suspended_at, doc }: Tables["orgs"]): Org {
  const { name } = JSON.parse(doc) as Pick<Org, "name">;
  return { id, createdAt: created_at, suspendedAt: suspended_at, name: storedName(name, id) };
}

export function userToRow({ id, orgId, createdAt, role, email, externalId, disabledAt, ...doc }: User): UserRow {
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

export function rowToUser(row: UserRow): User {
  const { name } = JSON.parse(row.doc) as Pick<User, "name">;
  return {
    id: row.id,
    orgId: row.org_id,
    name: storedName(name, row.id),
    email: row.email,
    externalId: row.external_id,
    role: row.role,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
  };
}
