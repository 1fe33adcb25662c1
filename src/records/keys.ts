/**
 * The records' part for API keys (H4). A key is stored as a hash: the records never contain the secret.
 *
 * `find` runs with every request, so a driver reads the key, its user and the org in one query. The engine decides whether the
 * key may be used; a driver returns revoked and expired keys too.
 */
import type { ApiKey, Org, User } from "../domain/caller.ts";
import type { AgePage } from "./people.ts";

export interface KeyRecords {
  insert(key: ApiKey): Promise<void>;
  get(id: string): Promise<ApiKey | null>;
  /** Returns the keys that have one of these hashes. The order is undefined. */
  find(hashes: readonly string[]): Promise<KeyHolder[]>;
  /** Returns the oldest key first; those of the same time by id. */
  list(query: KeyQuery): Promise<ApiKey[]>;
  /** Returns false and changes nothing if the org has no such key, or if the patch revokes a key that is revoked already. */
  update(key: { orgId: string; id: string }, patch: KeyPatch): Promise<boolean>;
}

/** An absent field stays. */
export interface KeyPatch {
  lastUsedAt?: number;
  revokedAt?: number;
}
export interface KeyQuery extends AgePage {
  orgId: string;
  userId?: string;
  /** True selects only tokens of devices, false only other keys. Absent: both. */
  ofDevices?: boolean;
  /** True selects only keys that are not revoked. */
  unrevoked?: boolean;
}
/** A key with its user and its org. `org` is null if it is not stored; then the key may not be used. */
export interface KeyHolder {
  key: ApiKey;
  user: User;
  org: Org | null;
}
