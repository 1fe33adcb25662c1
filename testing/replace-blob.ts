/** What no store does by itself, and a damaged disk or a person may: other bytes under the key of a blob. */
import type { BlobStore } from "../src/blobs/blob-store.ts";

export async function replaceBlob(store: BlobStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete(key);
  await store.put(key, bytes);
}
