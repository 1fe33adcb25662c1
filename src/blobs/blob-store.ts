/**
 * The contract for blobs: bytes under a key (B1). The engine decides what is a blob and how it is named;
 * a store only keeps bytes.
 *
 * What a driver must do:
 * - `put` is atomic and durable when it resolves: a reader sees nothing or all of the bytes, never a part, and
 *   they survive kill -9 and power loss (B3).
 * - `put` never replaces other bytes, also where two processes put at the same time: the first keeps the key, and
 *   whoever comes with other bytes gets an AptoveError `blob_exists` that names the key. The same bytes again are no
 *   error, so that a put whose answer was lost may be repeated. After `delete` the key is free.
 * - `get` gives back exactly the bytes that were put, or null when there is nothing under the key. Bytes that
 *   it knows to be damaged are an AptoveError `blob_damaged` that names the key, never null.
 * - `delete` of a key that is not there is no error.
 * - `list` gives every key that begins with the prefix, in any order.
 * - A full device is an AptoveError `storage_full`; every other fault of the medium is `storage_failed`.
 * - Several processes may use one store at the same time (B4).
 *
 * Keys are made by the engine only: segments of 1 to 200 characters `[a-z0-9._-]`, joined by `/`, none of
 * them `.` or `..`; no key is the folder of another (`a` and `a/b`). A driver refuses what is not a key with
 * `storage_failed`; a prefix may be any text.
 */

import { AptoveError } from "../domain/errors.ts";

export interface BlobStore {
  put(key: string, bytes: Uint8Array): Promise<void>;
  get(key: string): Promise<Uint8Array | null>;
  delete(key: string): Promise<void>;
  list(prefix: string): Promise<string[]>;
  /** Bytes that the blob takes in the store, or null when there is none (B7). */
  size(key: string): Promise<number | null>;
}

const keyPattern = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[a-z0-9._-]{1,200}(?:\/[a-z0-9._-]{1,200})*$/;

export function isBlobKey(key: string): boolean {
  return key.length <= 512 && keyPattern.test(key);
}

/** For drivers: what `put` throws where other bytes are. */
export function blobExists(key: string, cause?: unknown): AptoveError {
  return new AptoveError("blob_exists", `${key} has other bytes already`, { facts: { key }, cause });
}

/** For drivers: throws `storage_failed` for what is not a key. */
export function checkBlobKey(key: string): void {
  if (!isBlobKey(key)) throw new AptoveError("storage_failed", `${JSON.stringify(key)} is not the key of a blob`);
}
