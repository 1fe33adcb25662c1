/** Blobs in memory: for tests, and for a program that embeds aptove and stores nothing. They are lost when the process ends. */
import { blobExists, checkBlobKey, type BlobStore } from "../blob-store.ts";

export function memoryBlobs(): BlobStore {
  return new MemoryBlobs();
}

class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, Uint8Array>();

  async put(key: string, bytes: Uint8Array): Promise<void> {
    checkBlobKey(key);
    const kept = this.#blobs.get(key);
    if (kept === undefined) this.#blobs.set(key, new Uint8Array(bytes));
    else if (Buffer.compare(kept, bytes) !== 0) throw blobExists(key);
  }

  async get(key: string): Promise<Uint8Array | null> {
    checkBlobKey(key);
    const bytes = this.#blobs.get(key);
    return bytes === undefined ? null : new Uint8Array(bytes);
  }

  async delete(key: string): Promise<void> {
    checkBlobKey(key);
    this.#blobs.delete(key);
  }

  async list(prefix: string): Promise<string[]> {
    return [...this.#blobs.keys()].filter((key) => key.startsWith(prefix));
  }

  async size(key: string): Promise<number | null> {
    checkBlobKey(key);
    return this.#blobs.get(key)?.length ?? null;
  }
}
