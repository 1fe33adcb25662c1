/** Orgs, users and API keys in memory. */
import type { User } from "../../domain/caller.ts";
import type { AgePage, KeyHolder, RecordStore, UserUpdate } from "../record-store.ts";
import { byAge, insert, type Rows } from "./rows.ts";

type PeopleRecords = Pick<
  RecordStore,
  | "insertOrg"
  | "getOrg"
  | "listOrgs"
  | "updateOrg"
  | "insertUser"
  | "getUser"
  | "findUser"
  | "listUsers"
  | "updateUser"
  | "insertKey"
  | "getKey"
  | "findKey"
  | "findKeys"
  | "listKeys"
  | "revokeKey"
  | "touchKey"
>;

export function peopleRecords(rows: Rows): PeopleRecords {
  return {
    async insertOrg(org) {
      insert(rows.orgs, org.id, org);
    },
    async getOrg(id) {
      return rows.orgs.get(id) ?? null;
    },
    async listOrgs(page) {
      return pageOf([...rows.orgs.values()], page);
    },
    async updateOrg(id, patch) {
      const org = rows.orgs.get(id);
      if (org === undefined) return null;
      rows.orgs.set(id, { ...org, ...patch });
      return { ...org, ...patch };
    },
    async insertUser(user) {
      if (isTaken(rows, user)) return false;
      insert(rows.users, user.id, user);
      return true;
    },
    async getUser(id) {
      return rows.users.get(id) ?? null;
    },
    async findUser(orgId, by) {
      const isMeant = (user: User): boolean =>
        "email" in by ? user.email === by.email : user.externalId === by.externalId;
      return rows.users.values().find((user) => user.orgId === orgId && isMeant(user)) ?? null;
    },
    async listUsers({ orgId, ...page }) {
      return pageOf(
        [...rows.users.values()].filter((user) => user.orgId === orgId),
        page,
      );
    },
    async updateUser(orgId, id, patch) {
      const user = rows.users.get(id);
      return user?.orgId === orgId ? updateUser(rows, { ...user, ...patch }) : { outcome: "missing" };
    },
    async insertKey(key) {
      insert(rows.keys, key.id, key);
    },
    async getKey(id) {
      return rows.keys.get(id) ?? null;
    },
    async findKey(hash) {
      return findKeys(rows, [hash])[0] ?? null;
    },
    async findKeys(hashes) {
      return findKeys(rows, hashes);
    },
    async listKeys({ orgId, userId, ofDevices, unrevoked, ...page }) {
      const keys = [...rows.keys.values()]
        .filter((key) => key.orgId === orgId && (userId === undefined || key.userId === userId))
        .filter((key) => ofDevices === undefined || ofDevices === (key.deviceId !== null))
        .filter((key) => unrevoked !== true || key.revokedAt === null);
      return pageOf(keys, page);
    },
    async revokeKey(orgId, id, at) {
      const key = rows.keys.get(id);
      if (key === undefined || key.orgId !== orgId || key.revokedAt !== null) return false;
      rows.keys.set(id, { ...key, revokedAt: at });
      return true;
    },
    async touchKey(id, at) {
      const key = rows.keys.get(id);
      if (key !== undefined) rows.keys.set(id, { ...key, lastUsedAt: at });
    },
  };
}

function pageOf<Row extends { createdAt: number; id: string }>(rows: Row[], { limit, after }: AgePage): Row[] {
  const later = rows.filter((row) => after === undefined || byAge(after, row) < 0);
  return later.toSorted(byAge).slice(0, limit);
}

function isTaken(rows: Rows, { id, orgId, email, externalId }: User): boolean {
  const others = rows.users.values().filter((other) => other.orgId === orgId && other.id !== id);
  return others.some(
    (other) => (email !== null && other.email === email) || (externalId !== null && other.externalId === externalId),
  );
}

function updateUser(rows: Rows, updated: User): UserUpdate {
  const { id, orgId } = updated;
  const isAdmin = (user: User): boolean => user.role === "admin" && user.disabledAt === null;
  const wasAdmin = isAdmin(rows.users.get(id) ?? updated);
  const hasOther = rows.users.values().some((user) => user.orgId === orgId && user.id !== id && isAdmin(user));
  if (wasAdmin && !isAdmin(updated) && !hasOther) return { outcome: "last_admin" };
  if (isTaken(rows, updated)) return { outcome: "taken" };
  rows.users.set(id, updated);
  return { outcome: "updated", user: updated };
}

function findKeys(rows: Rows, hashes: readonly string[]): KeyHolder[] {
  return [...rows.keys.values()].flatMap((key) => {
    const user = rows.users.get(key.userId);
    if (user === undefined || !hashes.includes(key.hash)) return [];
    return [{ key, user, org: rows.orgs.get(user.orgId) ?? null }];
  });
}
