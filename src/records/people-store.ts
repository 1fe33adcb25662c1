/** The part of the contract for records that is about orgs, people, their keys and devices, and what they did (H4, P3). */
import type { AuditAction, AuditEntry } from "../domain/audit.ts";
import type { ApiKey, Org, OrgPatch, User, UserPatch } from "../domain/caller.ts";
import type { PairingCode } from "../domain/device.ts";

/** Held to what record-store.ts says of every method. */
export interface PeopleStore {
  // Orgs, people and keys (H4)
  insertOrg(org: Org): Promise<void>;
  getOrg(id: string): Promise<Org | null>;
  /** Oldest first, equal times by id, as all lists of this section. */
  listOrgs(page: AgePage): Promise<Org[]>;
  /** Null: there is no such org. */
  updateOrg(id: string, patch: OrgPatch): Promise<Org | null>;
  /** False, and nothing was written: somebody of the org has the email or the external id. */
  insertUser(user: User): Promise<boolean>;
  getUser(id: string): Promise<User | null>;
  /** Of this org, by one of the two. */
  findUser(orgId: string, by: { email: string } | { externalId: string }): Promise<User | null>;
  listUsers(query: AgePage & { orgId: string }): Promise<User[]>;
  /** Atomic over processes: of two who demote or disable the last two admins of an org at once, one is refused. */
  updateUser(orgId: string, id: string, patch: UserPatch): Promise<UserUpdate>;
  insertKey(key: ApiKey): Promise<void>;
  getKey(id: string): Promise<ApiKey | null>;
  findKey(hash: string): Promise<KeyHolder | null>;
  /** Those that are there, in no order. */
  findKeys(hashes: readonly string[]): Promise<KeyHolder[]>;
  listKeys(query: KeyQuery): Promise<ApiKey[]>;
  /** False when there is no such key in the org, or it was revoked before. */
  revokeKey(orgId: string, id: string, at: number): Promise<boolean>;
  touchKey(id: string, at: number): Promise<void>;

  // Audit
  insertAudit(entry: AuditEntry): Promise<void>;
  /** Newest first, equal times by id, descending. */
  listAudit(query: AuditQuery): Promise<AuditEntry[]>;
  /** Deletes what is older than this, the oldest first and at most so many; gives back how many there were. */
  dropAudit(before: number, limit: number): Promise<number>;

  // Devices (P3)
  /** Whom a device id belongs to: the first who was named with it, for ever. Atomic over processes. */
  ownDevice(device: DeviceOwner): Promise<DeviceOwner>;
  /** Forgets the codes that expired before this one was made. */
  insertPairingCode(code: PairingCode): Promise<void>;
  getPairingCode(id: string): Promise<PairingCode | null>;
  /**
   * Gives a device its token for an open code: one that was not claimed, did not expire and has tries left. Where no open
   * code has the hash, every open one loses a try. One transaction, and of many at once one after the other: a guess
   * that comes after the last try finds nothing, whatever process it comes through.
   */
  claimPairingCode(claim: PairingClaim): Promise<ClaimResult>;
}

/** A page of a list that is ordered by age. */
export interface AgePage {
  limit: number;
  /** The last row of the page before. */
  after?: { createdAt: number; id: string };
}
export interface KeyQuery extends AgePage {
  orgId: string;
  userId?: string;
  /** Only tokens of devices, or only other keys; absent: both. */
  ofDevices?: boolean;
  /** Only those that were not revoked. */
  unrevoked?: boolean;
}
/** A key with whom it belongs to. `org` is null where it is not stored: then nobody may use the key. */
export interface KeyHolder {
  key: ApiKey;
  user: User;
  org: Org | null;
}
/** A refused update changes nothing. `last_admin`: the org would have no admin any more who is not disabled. `taken`: as of `insertUser`. */
export type UserUpdate =
  | { outcome: "updated"; user: User }
  | { outcome: "missing" }
  | { outcome: "last_admin" }
  | { outcome: "taken" };
export interface AuditQuery {
  orgId: string;
  limit: number;
  userId?: string;
  action?: AuditAction;
  targetId?: string;
  /** The last row of the page before. */
  after?: { at: number; id: string };
}

export interface DeviceOwner {
  deviceId: string;
  orgId: string;
  userId: string;
  /** When the id was first used. */
  at: number;
}
export interface PairingClaim {
  /** Of the code that somebody gave. */
  hash: string;
  at: number;
  /** The token to be; it belongs to whoever made the code. */
  key: Omit<ApiKey, "orgId" | "userId" | "deviceId">;
  /** The device gets the first of these that is nobody else's. A token that it had before is revoked. */
  deviceIds: readonly string[];
}
/** `workspaceId`: of the code. `refused`: there is no such open code. */
export type ClaimResult = { outcome: "claimed"; key: ApiKey; workspaceId: string | null } | { outcome: "refused" };
