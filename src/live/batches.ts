/**
 * Does together what is asked for at the same time: one run at a time, and what comes meanwhile waits for the
 * next. So a store that is far or busy gets fewer and larger requests, and one that is near answers at once.
 */
export interface BatchLimits {
  countMax: number;
  /** Of the weights of one run's items, in whatever unit; one item alone may weigh more. */
  weightMax: number;
}

interface Asked<T, R> {
  item: T;
  weight: number;
  resolve(result: R): void;
  reject(error: unknown): void;
}

export class Batches<T, R> {
  readonly #run: (items: T[]) => Promise<readonly R[]>;
  readonly #limits: BatchLimits;
  #asked: Asked<T, R>[] = [];
  #running: Promise<void> | null = null;

  /** `run` gives a result for each item, in their order; what it throws, all of them get. */
  constructor(run: (items: T[]) => Promise<readonly R[]>, batchLimits: BatchLimits) {
    this.#run = run;
    this.#limits = batchLimits;
  }

  async add(item: T, weight = 0): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    this.#asked.push({ item, weight, resolve, reject });
    this.#running ??= this.#work();
    return await promise;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #work(): Promise<void> {
    // What is asked for in the same moment goes together.
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

  #next(): Asked<T, R>[] {
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
