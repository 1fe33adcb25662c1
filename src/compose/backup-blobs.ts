/**
 * Copies blobs for a backup and a restore, and checks each on the way: the bytes that are read by their checksum, the bytes that
 * are written by reading them again. What is damaged or missing is named, and the rest is copied.
 */
import type { BlobStore } from "../blobs/blob-store.ts";
import { AptoveError } from "../domain/errors.ts";

/** Something of a backup that cannot be read. */
export interface DamagedPart {
  /** The key of the blob, or the path of the file. */
  name: string;
  /** Words that follow the name. */
  why: string;
}

export interface BlobStores {
  from: BlobStore;
  to: BlobStore;
}

export interface BlobCopy {
  /** The blobs that were copied, by key, each with its damage or null. Another attempt does not copy them again. */
  copied: Map<string, string | null>;
  onBlob: ((done: number, total: number) => void) | undefined;
}

const blobsAtOnce = 16;

/**
 * Copies the blobs that were not copied yet. Damaged bytes are copied as they are, because something may be read from them, but
 * they never replace good ones. Throws `storage_failed` if a copy differs from what was written.
 */
export async function copyBlobs(stores: BlobStores, { copied, onBlob }: BlobCopy): Promise<void> {
  const { findBlobDamage } = await import("../blobs/compressed-blobs.ts");
  const keys = (await stores.from.list("")).filter((key) => !copied.has(key));
  let done = 0;
  await inParallel(keys, async (key) => {
    const bytes = await stores.from.get(key);
    // A purge may have deleted it.
    if (bytes !== null) {
      const damage = await findBlobDamage(key, bytes);
      copied.set(key, (await putChecked(stores.to, key, { bytes, damage })) ? damage : null);
    }
    onBlob?.((done += 1), keys.length);
  });
}

interface ReadBytes {
  bytes: Uint8Array;
  damage: string | null;
}

/** Returns false if the bytes are damaged and good ones were there. */
async function putChecked(to: BlobStore, key: string, { bytes, damage }: ReadBytes): Promise<boolean> {
  const there = await to.get(key);
  if (there !== null && Buffer.compare(there, bytes) === 0) return true;
  if (there !== null && damage !== null) return false;
  if (there !== null) await to.delete(key);
  await to.put(key, bytes);
  const written = await to.get(key);
  if (written !== null && Buffer.compare(written, bytes) === 0) return true;
  throw new AptoveError("storage_failed", `the copy of the blob ${key} does not have the bytes that were written`);
}

/** Returns the damaged blobs among those that were copied. */
export function damagedBlobs({ copied }: BlobCopy): DamagedPart[] {
  return [...copied].flatMap(([name, why]) => (why === null ? [] : [{ name, why }]));
}

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: blobsAtOnce }, lane));
}
