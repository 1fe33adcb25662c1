/**
 * Combines simultaneous requests: one batch runs at a time, and requests that arrive in the meantime wait for the next one.
 * So a store that is remote or busy gets fewer and larger requests, and one that is near responds at once.
 */
import { apart } from "../system/apart.ts";

export interface BatchLimits {
  countMax: number;
  /** The maximum sum of the weights of a batch's items, in any unit. A single item may weigh more. */
  weightMax: number;
}

interface PendingItem<T, R> {
  item: T;
  weight: number;
  resolve(result: R): void;
  reject(error: unknown): void;
}

export class Batcher<T, R> {
  readonly #run: (items: T[]) => Promise<readonly R[]>;
  readonly #limits: BatchLimits;
  #asked: PendingItem<T, R>[] = [];
  #running: Promise<void> | null = null;

  /** `run` returns a result for each item, in their order. If it throws, every item of the batch gets the error. */
  constructor(run: (items: T[]) => Promise<readonly R[]>, batchLimits: BatchLimits) {
    this.#run = run;
    this.#limits = batchLimits;
  }

  async add(item: T, weight = 0): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    this.#asked.push({ item, weight, resolve, reject });
    this.#running ??= apart(() => this.#work());
    return await promise;
  }

  /** Resolves when no batch runs. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #work(): Promise<void> {
    // Requests of the same moment go into one batch.
    await Promise.resolve();
    while (this.#asked.length > 0) {
      const batch = this.#next();
      try {
        const results = await this.#run(batch.map(({ item }) => item));
        for (const [at, { resolve }] of batch.entries()) resolve(results[at] as R);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = null;
  }

  #next(): PendingItem<T, R>[] {
    let count = 0;
    let weight = 0;
    for (const asked of this.#asked) {
      weight += asked.weight;
      if (count > 0 && (count >= this.#limits.countMax || weight > this.#limits.weightMax)) break;
      count += 1;
    }
    return this.#asked.splice(0, count);
  }
}
