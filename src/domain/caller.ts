/** Who is asking, and the orgs, people and keys that this is known by (H4). */
import type { Millis } from "./ids.ts";

/** It comes from authentication, never from a request's body (S3). */
export interface Caller {
  orgId: string;
  userId: string;
  role: Role;
  /** The device whose token it is that the caller came with; absent: another key, or none (P3). */
  deviceId?: string;
  /**
   * The one workspace that the caller sees and works in: of a device's token the device's own (P3). Absent: there is no such
   * bound.
   */
  workspaceId?: string;
  /** The key that the caller came with, and the request: for whoever reads the audit log. Absent: there is none. */
  keyId?: string;
  requestId?: string;
}

/** The org that a data folder has from its first start on; its admins are those who run the program. */
export const localOrgId = "00000000-0000-7000-8000-000000000001";

/** An admin of the org that the data had from its first start on (H4). */
export function runsTheServer({ role, orgId }: Caller): boolean {
  return role === "admin" && orgId === localOrgId;
}

/** The `userId` of whoever runs the program on its own data: a user of no org, who has no key and no sessions. */
export const operatorId = "00000000-0000-7000-8000-000000000003";

export type Role = "admin" | "member" | "reader";

/** People who share. Nothing of one org is ever seen by another. */
export interface Org {
  id: string;
  name: string;
  createdAt: Millis;
  /** While it is not null no key of the org's people is taken. */
  suspendedAt: Millis | null;
}

/** A person (or a program) of an organisation. */
export interface User {
  id: string;
  orgId: string;
  name: string;
  /** Lower case, and unique in the org; null: not known. */
  email: string | null;
  /** Who they are to the org's identity provider; unique in the org. */
  externalId: string | null;
  role: Role;
  createdAt: Millis;
  /** While it is not null none of their keys is taken. */
  disabledAt: Millis | null;
}

/** What changes of a user. A field that is absent stays as it is. */
export type UserPatch = Partial<Pick<User, "name" | "email" | "externalId" | "role" | "disabledAt">>;
export type OrgPatch = Partial<Pick<Org, "name" | "suspendedAt">>;

/** An API key as it is stored: the secret itself is never kept, only its SHA-256 (H4). */
export interface ApiKey {
  id: string;
  orgId: string;
  userId: string;
  name: string;
  /** The first characters of the secret, to tell keys apart in a list. */
  prefix: string;
  hash: string;
  /** Null: it is not the token of a device (P3). */
  deviceId: string | null;
  createdAt: Millis;
  expiresAt: Millis | null;
  lastUsedAt: Millis | null;
  revokedAt: Millis | null;
}
