/**
 * Rounds of the event loop: waiting for the moment at which everything that came together has been handled, and spreading work that
 * comes at once. All who wait for the same moment share one callback.
 */

/** Waits until the promises that are settled by now, and those that they settle, have been handled. No input or timer comes in between. */
export const endOfTick = sharedWait((done) => process.nextTick(done));

/** Waits for the end of this round of the event loop. */
export const endOfRound = sharedWait((done) => void setImmediate(done));

/**
 * Lets a few callers in with each round, in the order in which they came. Where fewer come, none of them waits. It only spreads the
 * beginnings of the work, so work that takes long does not hold up other work.
 */
export class RoundQueue {
  readonly #callersMax: () => number;
  readonly #waiting: (() => void)[] = [];
  #admitted = 0;

  /** `callersMax` is asked in each round for the most callers of it. */
  constructor(callersMax: () => number) {
    this.#callersMax = callersMax;
  }

  /** True if callers wait for a later round. */
  get isCrowded(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when it is the caller's turn. */
  async enter(): Promise<void> {
    // The number may have grown since others began to wait.
    if (this.isCrowded || this.#admitted >= this.#callersMax())
      return await new Promise((resolve) => this.#waiting.push(resolve));
    if (this.#admitted === 0) setImmediate(this.#nextRound);
    this.#admitted += 1;
  }

  readonly #nextRound = (): void => {
    const next = this.#waiting.splice(0, this.#callersMax());
    this.#admitted = next.length;
    if (next.length > 0) setImmediate(this.#nextRound);
    for (const admit of next) admit();
  };
}

function sharedWait(schedule: (done: () => void) => void): () => Promise<void> {
  let waiting: Promise<void> | null = null;
  return () =>
    (waiting ??= new Promise((resolve) => {
      schedule(() => {
        waiting = null;
        resolve();
      });
    }));
}
