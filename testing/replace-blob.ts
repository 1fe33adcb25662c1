/** Replaces the bytes of a blob. A store never does that, but a damaged disk or a person may. */
import type { BlobStore } from "../src/blobs/blob-store.ts";

export async function replaceBlob(store: BlobStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete(key);
  await store.put(key, bytes);
}
