/**
 * The contract for blobs: bytes under a key (B1). The engine decides what a blob contains and how it is named. A store only
 * keeps bytes.
 *
 * A driver must do the following.
 * - `put` is atomic, and durable when it resolves: a reader sees none or all of the bytes, never a part, and they survive
 *   kill -9 and power loss (B3).
 * - `put` never replaces other bytes, also when two processes put at the same time. The first one keeps the key. The other
 *   one gets an AptoveError `blob_exists` that names the key, if its bytes differ. Putting the same bytes again is no error,
 *   so a put whose response was lost may be repeated. After `delete` the key is free.
 * - `get` returns exactly the bytes that were put, or null if there is no blob under the key. Bytes that it knows to be
 *   damaged are an AptoveError `blob_damaged` that names the key, never null.
 * - `delete` of an unknown key is no error.
 * - `list` returns every key that begins with the prefix. The order is undefined.
 * - A full device is an AptoveError `storage_full`. A server that stays away is `blobs_unavailable`, with
 *   `retryAfterSeconds` in its facts. Every other fault of the medium is `storage_failed`.
 * - Several processes may use one store at the same time (B4).
 *
 * Only the engine makes keys: segments of 1 to 200 characters `[a-z0-9._-]`, joined by `/`, none of them `.` or `..`. No key
 * is the folder of another (`a` and `a/b`). A driver refuses anything else with `storage_failed`. A prefix may be any text.
 */

import { AptoveError } from "../domain/errors.ts";

export interface BlobStore {
  put(key: string, bytes: Uint8Array): Promise<void>;
  get(key: string): Promise<Uint8Array | null>;
  delete(key: string): Promise<void>;
  list(prefix: string): Promise<string[]>;
  /** Returns the size of the blob in the store, in bytes. Null if there is no such blob (B7). */
  size(key: string): Promise<number | null>;
}

const keyPattern = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[a-z0-9._-]{1,200}(?:\/[a-z0-9._-]{1,200})*$/;

export function isBlobKey(key: string): boolean {
  return key.length <= 512 && keyPattern.test(key);
}

/** Returns the error that a driver's `put` throws if the key has other bytes. */
export function blobExists(key: string, cause?: unknown): AptoveError {
  return new AptoveError("blob_exists", `${key} has other bytes already`, { facts: { key }, cause });
}

/** Throws `storage_failed` if the text is not a key. Every driver calls it. */
export function checkBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new AptoveError("storage_failed", `${JSON.stringify(key)} is not the key of a blob`);
}
