/** The caller of a request, and the orgs, users and API keys that authentication knows (H4). */
import type { Millis } from "./ids.ts";

/**
 * The user who makes a request, as authentication found them. A caller is never read from the body of a request (S3).
 */
export interface Caller {
  orgId: string;
  userId: string;
  role: Role;
  /** The device whose token the caller used. Absent if the caller used another key, or none (P3). */
  deviceId?: string;
  /**
   * The only workspace that the caller can see and use. A caller with a device's token has it (P3). Absent: there is no
   * such restriction.
   */
  workspaceId?: string;
  /** The workspace of the caller's new sessions, if the request names none (O4). */
  defaultWorkspaceId?: string;
  /** The limits of the caller's key, beside those of the user (O4). Absent: there are none. */
  keyLimits?: KeyLimits;
  /** The API key of the caller, for the audit log. Absent if the caller used none. */
  keyId?: string;
  requestId?: string;
}

/** The org that every data folder has from its first start. Its admins run the server. */
export const localOrgId = "00000000-0000-7000-8000-000000000001";

/** Returns true if the caller is an admin of the first org of the data (H4). */
export function runsTheServer({ role, orgId }: Caller): boolean {
  return role === "admin" && orgId === localOrgId;
}

/**
 * The `userId` of the operator, who runs the program on its own data. The operator is a user of no org, and has no key
 * and no sessions.
 */
export const operatorId = "00000000-0000-7000-8000-000000000003";

/**
 * The rights of a user in their org. A reader only reads; a member also runs turns; an admin also manages people, keys
 * and contexts.
 */
export type Role = "admin" | "member" | "reader";

const byRights: readonly Role[] = ["reader", "member", "admin"];

/** Returns the role with fewer rights. */
function lowerRole(one: Role, other: Role): Role {
  return byRights[Math.min(byRights.indexOf(one), byRights.indexOf(other))] ?? "reader";
}

/** Returns the role of a caller who uses a key: that of its user now, but never more than its maker had (H4). */
export function roleOf({ key, user }: { key: Pick<ApiKey, "roleMax">; user: Pick<User, "role"> }): Role {
  return key.roleMax === null ? user.role : lowerRole(user.role, key.roleMax);
}

/** An organisation: people who share sessions. Nothing of one org is visible to another. */
export interface Org {
  id: string;
  name: string;
  createdAt: Millis;
  /**
   * The time at which the org was suspended, or null. As long as it is suspended, the keys of its users are refused.
   */
  suspendedAt: Millis | null;
}

/** A person or a program that belongs to an org. */
export interface User {
  id: string;
  orgId: string;
  name: string;
  /** The email address, in lower case and unique in the org. Null if it is not known. */
  email: string | null;
  /** The user's id at the identity provider of the org, unique in the org. Null if there is none. */
  externalId: string | null;
  role: Role;
  createdAt: Millis;
  /** The time at which the user was disabled, or null. As long as the user is disabled, their keys are refused. */
  disabledAt: Millis | null;
}

/** The changes to a user. An absent field stays as it is. */
export type UserPatch = Partial<Pick<User, "name" | "email" | "externalId" | "role" | "disabledAt">>;
export type OrgPatch = Partial<Pick<Org, "name" | "suspendedAt">>;

/** People, and scanners that search for leaked secrets, recognise this prefix in a log or a file. */
export const secretPrefix = "aptove_";
/** The secret of a browser that is signed in (U2) begins with this. */
export const browserSecretPrefix = `${secretPrefix}web_`;

/** Returns true if the key is that of a browser that is signed in. */
export function isBrowserKey({ prefix }: Pick<ApiKey, "prefix">): boolean {
  return prefix.startsWith(browserSecretPrefix);
}

/** The limits of one key (O4). A limit that is null does not exist. Each server counts the running turns itself. */
export interface KeyLimits {
  concurrentRunsMax: number | null;
  requestsPerMinuteMax: number | null;
}

/** An API key as it is stored. The secret is not stored, only its SHA-256 (H4). */
export interface ApiKey {
  id: string;
  orgId: string;
  userId: string;
  name: string;
  /** The first characters of the secret, so that a person can recognise the key in a list. */
  prefix: string;
  hash: string;
  /** The device whose token this key is (P3). Null for any other key. */
  deviceId: string | null;
  /** The role of the caller who made the key. Null if the key is from before this was stored. */
  roleMax: Role | null;
  /** The workspace of new sessions, if a request with this key names none (O4). */
  workspaceId: string | null;
  /** The key's own limits. Null: only those of its user and org (O4). */
  limits: KeyLimits | null;
  createdAt: Millis;
  expiresAt: Millis | null;
  lastUsedAt: Millis | null;
  revokedAt: Millis | null;
}
