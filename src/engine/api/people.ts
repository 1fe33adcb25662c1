/** What a door can ask for about orgs, people, their keys and devices, what they share, and what they did (H4, P3, S7). */
import type { AuditAction, AuditEntry } from "../../domain/audit.ts";
import type { ApiKey, Caller, Org, Role, User } from "../../domain/caller.ts";
import type { Device, Pairing } from "../../domain/device.ts";
import type { Session } from "../../domain/session.ts";

/** A page of a list that begins with the oldest. */
export interface AgeRequest {
  limit?: number;
  /** `next` of the page before. */
  after?: AgePlace;
}
export interface AgePlace {
  createdAt: number;
  id: string;
}

export interface KeyRing {
  /**
   * Makes a key and gives its secret, which is not kept and never shown again (H4). Members make keys for themselves, admins
   * for anybody of their org. Throws `forbidden` for a reader and for a device, `not_found` for a user of whom the caller may not know.
   */
  create(
    caller: Caller,
    key: { name: string; userId?: string; expiresAt?: number },
  ): Promise<{ key: ApiKey; secret: string }>;
  /** The caller's own; for an admin those of the org. Tokens of devices are among them. */
  list(caller: Caller, page?: AgeRequest & { userId?: string }): Promise<{ keys: ApiKey[]; next: AgePlace | null }>;
  /** When this resolves the key is worthless, and what it has open here is closed; elsewhere within `keyPollMs`. */
  revoke(caller: Caller, id: string): Promise<void>;
  /**
   * The caller whom a secret belongs to, or null: unknown, revoked or expired, its user disabled, its org suspended. A secret is
   * that of a key, or a token of the configured identity provider.
   */
  authenticate(secret: string): Promise<Caller | null>;
  /**
   * For a connection that stays open: calls once when the key ends or its user has another role than the caller, at once where
   * this process did that, else within `keyPollMs`. For a secret that is no key, never. Gives what ends the watch.
   */
  watch(visitor: { secret: string; caller: Pick<Caller, "role"> }, onEnd: () => void): () => void;
  /** The person who owns a local data folder; made at the first call. */
  owner(): Promise<Caller & { name: string }>;
}

/** Devices with a token of their own (P3). A token is an API key: `keys.authenticate` takes it. */
export interface Devices {
  /**
   * A code by which one device gets a token of the caller's, once and soon; with `workspaceId` it shares that workspace from
   * its first session on (W2). Throws `forbidden` for a reader and for a device, `workspace_unknown`.
   */
  pair(caller: Caller, start?: { workspaceId?: string }): Promise<{ id: string; code: string; expiresAt: number }>;
  /** What became of a code that the caller made; `not_found` some time after its end. */
  pairing(caller: Caller, id: string): Promise<Pairing>;
  /**
   * The token, which is not kept and never shown again, for whoever knows the code. The device keeps the id that it gives
   * itself, unless that is no id or somebody else's. Throws `pairing_refused`, which costs every open code a try.
   */
  claim(request: { code: string; name: string; deviceId?: string }): Promise<{ device: Device; token: string }>;
  /** The caller's devices, oldest first; for an admin those of the org; for a device itself. At most `devicesListedMax`. */
  list(caller: Caller): Promise<Device[]>;
  /** Its token is worthless when this resolves, and its connections are told. `id` is the device's, not its `deviceId`. */
  revoke(caller: Caller, id: string): Promise<void>;
  /**
   * The device that the caller speaks for: the token's own, else the one that is named, which from then on is the
   * caller's for ever; null: none. Throws `device_refused` for another one than the token's and for somebody else's.
   */
  resolve(caller: Caller, named: string | null): Promise<string | null>;
  /** The caller within the workspace of a device of theirs; it gets one where it has none (W2). */
  scoped(caller: Caller, deviceId: string): Promise<Caller>;
}

/** The caller's own org and its people. Everybody sees who is there; admins change it. */
export interface People {
  /** The caller's own; by an id only if it is that. */
  org(caller: Caller, id?: string): Promise<Org>;
  /** Whose name stands beside what the caller does; of the operator a made-up one. */
  self(caller: Caller): Promise<Pick<User, "id" | "name">>;
  renameOrg(caller: Caller, id: string, name: string): Promise<Org>;
  users(caller: Caller, page?: AgeRequest): Promise<{ users: User[]; next: AgePlace | null }>;
  /** Their email and external id only for an admin and themselves; else null. */
  user(caller: Caller, id: string): Promise<User>;
  /** Throws `forbidden`, `user_exists`. */
  addUser(caller: Caller, user: UserStart): Promise<User>;
  /** From the next request on the user is what this says; what they have open ends where they are disabled. Throws `last_admin`, `user_exists`. */
  changeUser(caller: Caller, id: string, change: UserChange): Promise<User>;
}

export interface UserStart {
  name: string;
  email?: string | null;
  externalId?: string | null;
  /** Absent: `member`. */
  role?: Role;
}
export interface UserChange extends Partial<UserStart> {
  disabled?: boolean;
}

/**
 * Whoever runs the program on its own data (H4): the command line on the machine of the data. No door gives it to anybody;
 * orgs come and go through it alone.
 */
export interface Operator {
  createOrg(name: string): Promise<Org>;
  listOrgs(page?: AgeRequest): Promise<{ orgs: Org[]; next: AgePlace | null }>;
  /** While it is suspended nobody of the org is let in, and what they have open ends. Throws `not_found`. */
  suspendOrg(id: string, isSuspended: boolean): Promise<Org>;
  /** Who may do in the org what its admins may with its people, and has no sessions. Throws `not_found`. */
  callerFor(orgId: string): Promise<Caller>;
}

/** Who of the org may read a session, and who takes part in it (S7). */
export interface Sharing {
  /** For whoever may see the session. */
  of(caller: Caller, sessionId: string): Promise<Shared>;
  /**
   * By its owner, or by an admin who may see it. Who is invited reads and continues it; who is dismissed does not any more.
   * Throws `forbidden`, and `not_found` also for somebody who is not of the org.
   */
  change(
    caller: Caller,
    sessionId: string,
    change: { isPublic?: boolean; invite?: string[]; dismiss?: string[] },
  ): Promise<Shared>;
}
export interface Shared {
  session: Session;
  /** Those who take part, the owner among them if they do. */
  participants: { userId: string; name: string }[];
}

export interface AuditLog {
  /** Of the caller's org, newest first. Throws `forbidden` for whoever is no admin, and for a device. */
  list(caller: Caller, query: AuditRequest): Promise<{ entries: AuditEntry[]; next: AuditPlace | null }>;
}
export interface AuditRequest {
  limit?: number;
  userId?: string;
  action?: AuditAction;
  targetId?: string;
  after?: AuditPlace;
}
export interface AuditPlace {
  at: number;
  id: string;
}
