/**
 * The records' part for orgs and their users (H4).
 *
 * A driver keeps the email and the external id of a user unique within the org; null is never a duplicate. It keeps at least
 * one enabled admin in an org that has one, also when two processes change users at once. Lists are ordered by age: the
 * oldest first, those of the same time by id.
 */
import type { Org, OrgPatch, User, UserPatch } from "../domain/caller.ts";

export interface PeopleRecords {
  insertOrg(org: Org): Promise<void>;
  getOrg(id: string): Promise<Org | null>;
  listOrgs(page: AgePage): Promise<Org[]>;
  /** Returns null if there is no such org. */
  updateOrg(id: string, patch: OrgPatch): Promise<Org | null>;

  /** Returns false and writes nothing if another user of the org has the email or the external id. */
  insertUser(user: User): Promise<boolean>;
  getUser(id: string): Promise<User | null>;
  /** Finds a user of the org by one of the two. */
  findUser(orgId: string, by: { email: string } | { externalId: string }): Promise<User | null>;
  listUsers(query: AgePage & { orgId: string }): Promise<User[]>;
  /** Changes the given fields. If two processes demote or disable the last two admins of an org at once, one is refused. */
  updateUser(orgId: string, id: string, patch: UserPatch): Promise<UserUpdate>;
}

/** A page of a list that is ordered by age. */
export interface AgePage {
  limit: number;
  /** The last row of the previous page. */
  after?: { createdAt: number; id: string };
}
/**
 * The result of an update. A refusal changes nothing. `last_admin`: the org would have no enabled admin left. `taken`: another
 * org has the email or the external id.
 */
export type UserUpdate =
  | { outcome: "updated"; user: User }
  | { outcome: "missing" }
  | { outcome: "last_admin" }
  | { outcome: "taken" };
