/** Orgs and users in memory. */
import type { User } from "../../domain/caller.ts";
import type { AgePage, PeopleRecords, UserUpdate } from "../people.ts";
import { byAge, insert, type Rows } from "./rows.ts";

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
  };
}

/** Returns a page, the oldest row first. */
export function pageOf<Row extends { createdAt: number; id: string }>(rows: Row[], { limit, after }: AgePage): Row[] {
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
