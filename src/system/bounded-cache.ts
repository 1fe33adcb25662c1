/** A cache that keeps the most recently used values, up to a total size. The values must be immutable, so that none is ever stale. */
export class BoundedCache<Value> {
  readonly #sizeMax: number;
  readonly #kept = new Map<string, { value: Value; size: number }>();
  #size = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get(key: string): Value | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    // A map iterates in the order of insertion. Inserting the value again makes it the newest.
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found.value;
  }

  delete(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }

  clear(): void {
    this.#kept.clear();
    this.#size = 0;
  }

  set(key: string, value: Value, size: number): void {
    this.delete(key);
    if (size > this.#sizeMax) return;
    this.#kept.set(key, { value, size });
    this.#size += size;
    for (const [oldest, { size: freed }] of this.#kept) {
      if (this.#size <= this.#sizeMax) return;
      this.#kept.delete(oldest);
      this.#size -= freed;
    }
  }
}
