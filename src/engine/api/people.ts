/** Orgs, users, their keys and devices, the sharing of sessions, and the audit log (H4, P3, S7). */
import type { IdentityAnswer, IdentityAttempt } from "../../identity/identity-provider.ts";
import type { AuditAction, AuditEntry } from "../../domain/audit.ts";
import type { ApiKey, Caller, Org, Role, User, KeyLimits } from "../../domain/caller.ts";
import type { Device, Pairing } from "../../domain/device.ts";
import type { Session } from "../../domain/session.ts";
import type { Budgets } from "./budgets.ts";

/** A page of a list whose oldest item is first. */
export interface OldestFirstRequest {
  limit?: number;
  /** The cursor that the previous page returned as `next`. */
  after?: CreationCursor;
}
export interface CreationCursor {
  createdAt: number;
  id: string;
}

/** A key to make. */
export interface KeyStart {
  name: string;
  /** The owner. Absent: the caller. */
  userId?: string;
  expiresAt?: number;
  /** The workspace of the key's new sessions. Absent: none. */
  workspaceId?: string;
  /** Absent: only the limits of the user and the org. */
  limits?: KeyLimits;
}

/** API keys (H4). */
export interface KeyRing {
  /**
   * Makes a key, and returns it with its secret. The secret is not stored and is never shown again (H4). A member makes
   * keys for themselves, an admin for any user of the org. Throws `forbidden` for a reader and for a device,
   * `not_found` if the user is not of the org, `request_invalid` if the user is disabled or `expiresAt` is not in the
   * future, `workspace_unknown`. A key with limits of its own makes no keys (`forbidden`).
   */
  create(caller: Caller, key: KeyStart): Promise<{ key: ApiKey; secret: string }>;
  /**
   * Returns the keys of the caller, oldest first. An admin receives the keys of the org, or those of `userId`. The
   * tokens of devices are among them. Throws `forbidden` for a device.
   */
  list(
    caller: Caller,
    page?: OldestFirstRequest & { userId?: string },
  ): Promise<{ keys: ApiKey[]; next: CreationCursor | null }>;
  /**
   * Revokes a key. The caller may revoke their own keys, and an admin those of the org. When this resolves, the key is
   * refused, and its connections to this process are closed. Other processes close theirs within `keyPollMs`. Throws
   * `forbidden` for a reader and for a device, `not_found`.
   */
  revoke(caller: Caller, id: string): Promise<void>;
  /**
   * Returns the caller that a secret belongs to. The secret is that of an API key, or a token of the configured
   * identity provider. Returns null if it is unknown, revoked or expired, if its user is disabled, or if the org is
   * suspended. Throws `identity_unavailable`.
   */
  authenticate(secret: string): Promise<Caller | null>;
  /**
   * Watches the key of an open connection. Calls `onEnd` once, when the key ends or when it no longer gives the rights of
   * the caller (role, org, workspace): at once if this process made the change, else within `keyPollMs`. Never calls it
   * for a secret that is no key. With `deviceId`, the caller is restricted to this device of theirs, whose key it is not; then
   * the watch also ends when the device gets another workspace or is revoked. Returns a function that ends the watch.
   */
  watch(visitor: { secret: string; caller: Caller; deviceId?: string }, onEnd: () => void): () => void;
  /** Returns the owner of a local data folder. The first call makes the owner. */
  owner(): Promise<Caller & { name: string }>;
  /** Browsers that are signed in to the page, each with a key of its own. */
  readonly browsers: Browsers;
}

/** Devices, each with its own token (P3). A token is an API key, which `keys.authenticate` accepts. */
export interface Devices {
  /**
   * Makes a pairing code, with which one device can get a token of the caller, once and for a short time. With
   * `workspaceId`, the device shares that workspace from its first session (W2). Throws `forbidden` for a reader and
   * for a device, `workspace_unknown`.
   */
  pair(caller: Caller, start?: { workspaceId?: string }): Promise<{ id: string; code: string; expiresAt: number }>;
  /**
   * Returns the state of a pairing code that the caller made. Throws `not_found` some time after the code has ended.
   */
  pairing(caller: Caller, id: string): Promise<Pairing>;
  /**
   * Exchanges a pairing code for a device and its token. It needs no caller: the code is the proof. The token is not
   * stored and is never shown again. The device keeps `deviceId`, unless it is no valid id or belongs to another user.
   * Throws `pairing_refused`; a wrong code uses up one try of every open code.
   */
  claim(request: { code: string; name: string; deviceId?: string }): Promise<{ device: Device; token: string }>;
  /**
   * Returns the devices of the caller, oldest first, at most `devicesListedMax`. An admin receives those of the org, a
   * device only itself.
   */
  list(caller: Caller): Promise<Device[]>;
  /**
   * Revokes a device. When this resolves, its token is refused and its connections are closed. `id` is the id of the
   * device, not its `deviceId`. A device may revoke only itself, an admin any device of the org. Throws `forbidden`,
   * `not_found`.
   */
  revoke(caller: Caller, id: string): Promise<void>;
  /**
   * Returns the device that the caller acts for: the device of its token, else the one that the request names, which
   * then belongs to the caller permanently. Null: none. Throws `device_refused` if the token belongs to another device,
   * or the device to another user; `request_invalid` if the text is no device id.
   */
  resolve(caller: Caller, named: string | null): Promise<string | null>;
  /**
   * Returns the caller, restricted to the workspace of one of their devices. A device without a workspace gets a new
   * one (W2).
   */
  scoped(caller: Caller, deviceId: string): Promise<Caller>;
}

/**
 * Browsers that are signed in to the page (U2). A sign-in makes an API key for one browser, which ends after
 * `browserSignInMs`, or after `identitySignInMs` if the identity provider let the person in. With a pairing code, the browser becomes
 * a device instead.
 */
export interface Browsers {
  /**
   * Makes a code with which one browser can sign in as the caller, once and within `signInCodeMs`. The code is kept in this
   * process only. Throws `forbidden` for a reader and for a device.
   */
  code(caller: Caller): Promise<{ code: string; expiresAt: number }>;
  /**
   * Signs a browser in with a code of `code`, the secret of an API key, a pairing code, or an answer of the identity provider.
   * Needs no caller. The new secret is not stored and is never shown again. Throws `sign_in_refused`, `pairing_refused`,
   * `identity_unavailable`.
   */
  signIn(proof: BrowserProof, name: string): Promise<{ keyId: string; secret: string; expiresAt: number | null }>;
  /** Returns the name of the identity provider at which browsers can sign in. Null: they cannot. */
  identityProvider(): string | null;
  /**
   * Begins a sign-in at the identity provider, which sends the browser to `redirectUri` with its answer. Needs no caller. Throws
   * `identity_unavailable`, and `sign_in_refused` if browsers do not sign in there.
   */
  beginAtIdentityProvider(redirectUri: string): Promise<IdentityAttempt>;
  /** Ends the sign-in that the caller came with. Does nothing if the caller came with another key. */
  signOut(caller: Caller): Promise<void>;
}
/** What a browser signs in with. */
export type BrowserProof = { code: string } | { key: string } | { pairingCode: string } | { identity: IdentityAnswer };

/** The caller's org and its users. Every user of the org may read them; an admin may change them. */
export interface People {
  /** What the calls of models of sessions, persons, keys and orgs may cost. */
  readonly budgets: Budgets;
  /** Returns the org of the caller. Throws `not_found` if `id` is that of another org. */
  org(caller: Caller, id?: string): Promise<Org>;
  /** Returns the user whose name is shown for the caller's actions. For the operator it is a fixed name. */
  self(caller: Caller): Promise<Pick<User, "id" | "name">>;
  /** Renames the caller's org, and returns it. Only an admin may do this. Throws `forbidden`, `not_found`. */
  renameOrg(caller: Caller, id: string, name: string): Promise<Org>;
  /** Returns a page of the users of the org, oldest first. `next` is null on the last page. */
  users(caller: Caller, page?: OldestFirstRequest): Promise<{ users: User[]; next: CreationCursor | null }>;
  /**
   * Returns a user of the org. Only an admin and the user themselves see the email and the external id; for others they
   * are null. Throws `not_found`.
   */
  user(caller: Caller, id: string): Promise<User>;
  /** Adds a user to the org, and returns them. Only an admin may do this. Throws `forbidden`, `user_exists`. */
  addUser(caller: Caller, user: UserStart): Promise<User>;
  /**
   * Changes a user, and returns them. It counts from the user's next request. The connections of a disabled user are
   * closed. Only an admin may do this. Throws `forbidden`, `not_found`, `last_admin`, `user_exists`.
   */
  changeUser(caller: Caller, id: string, change: UserChange): Promise<User>;
}

/** The facts of a new user. */
export interface UserStart {
  name: string;
  email?: string | null;
  externalId?: string | null;
  /** The role of the user. Default: `member`. */
  role?: Role;
}
/** The changes to a user. An absent field stays as it is. */
export interface UserChange extends Partial<UserStart> {
  disabled?: boolean;
}

/**
 * The operator, who runs the program on its own data (H4): the command line on the machine of the data. No door gives
 * these methods to a caller. They are the only way to make or suspend an org.
 */
export interface Operator extends Erasing {
  /** Makes an org without users, and returns it. */
  createOrg(name: string): Promise<Org>;
  /** Returns a page of all orgs, oldest first. `next` is null on the last page. */
  listOrgs(page?: OldestFirstRequest): Promise<{ orgs: Org[]; next: CreationCursor | null }>;
  /**
   * Suspends an org or ends its suspension, and returns the org. As long as it is suspended, no user of the org is
   * admitted, and their connections are closed. Throws `not_found`.
   */
  suspendOrg(id: string, isSuspended: boolean): Promise<Org>;
  /**
   * Returns a caller with the rights of an admin over the users of the org, but without sessions. Throws `not_found`.
   */
  callerFor(orgId: string): Promise<Caller>;
}

/** Deletes what a user who left had for themselves. */
export interface Erasing {
  /** Returns what `eraseUser` would delete. Throws `not_found`. */
  erasable(userId: string): Promise<ErasableUser>;
  /**
   * Revokes the keys of a disabled user, forgets the facts that were written down in their private sessions, purges these
   * sessions and those that they removed, and takes name, email and external id out of the user's row. Shared sessions stay. Can
   * be called again after it failed. Throws `not_found`, `request_invalid` unless the user is disabled, and `session_busy` while a
   * turn of such a session runs.
   */
  eraseUser(userId: string): Promise<ErasedUser>;
}

/** How much there is of what only the user had. */
export interface ErasableUser {
  user: User;
  sessions: number;
  /** The sessions of the user that others can see. They stay. */
  sharedSessions: number;
  /** The keys in use, with the tokens of devices and browsers. */
  keys: number;
  facts: number;
}
export interface ErasedUser extends ErasableUser {
  turnsPurged: number;
  /** The turns that stay because forks of other users need them. */
  turnsKept: number;
  bytesFreed: number;
}

/** Who of the org may read a session, and who takes part in it (S7). */
export interface SessionSharing {
  /** Returns who takes part in a session. Anyone who may see the session may read this. Throws `not_found`. */
  of(caller: Caller, sessionId: string): Promise<SharedSession>;
  /**
   * Changes who may read and continue a session, and returns the result. An invited user may read and continue it; a
   * dismissed user no longer may. The owner may do this, and an admin who may see the session. Throws `forbidden`, and
   * `not_found` for the session and for a user who is not of the org.
   */
  change(
    caller: Caller,
    sessionId: string,
    change: { isPublic?: boolean; invite?: string[]; dismiss?: string[] },
  ): Promise<SharedSession>;
}
/** A session, and the users who take part in it. */
export interface SharedSession {
  session: Session;
  /** The users who take part in the session. The owner is among them if they run turns in it. A reader may not continue it. */
  participants: { userId: string; name: string; role: Role }[];
}

/** The audit log of an org. */
export interface AuditLog {
  /**
   * Returns a page of the audit log of the caller's org, newest first. Only an admin may read it. Throws `forbidden`
   * for any other caller, and for a device.
   */
  list(caller: Caller, query: AuditRequest): Promise<{ entries: ListedAuditEntry[]; next: AuditCursor | null }>;
}
/** `sessionId` is the session that the entry is about, if the caller may see it; otherwise null. */
export type ListedAuditEntry = AuditEntry & { sessionId: string | null };
/** The entries to list: only those that match every given field. */
export interface AuditRequest {
  limit?: number;
  userId?: string;
  action?: AuditAction;
  targetId?: string;
  /** The earliest time, in milliseconds. */
  from?: number;
  /** The time before which an entry must be. */
  until?: number;
  after?: AuditCursor;
}
export interface AuditCursor {
  at: number;
  id: string;
}
