/**
 * Bytes that come in many small pieces, in one piece of memory: a small buffer of its own costs the collector more than its
 * content.
 */
export class GrowingBytes {
  #memory = Buffer.alloc(0);
  #length = 0;

  /** Adds a copy of the bytes. */
  add(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#memory.length));
      larger.set(this.#memory.subarray(0, this.#length));
      this.#memory = larger;
    }
    this.#memory.set(bytes, this.#length);
    this.#length = length;
  }

  /** All bytes so far. What is added later does not change them. */
  get all(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }
}
