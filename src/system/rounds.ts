/**
 * Rounds of the event loop: waiting for the moment at which everything that came together has been handled, and spreading work that
 * comes at once. All who wait for the same moment share one callback.
 */

/** Waits until the promises that are settled by now, and those that they settle, have been handled. No input or timer comes in between. */
export const endOfTick = sharedWait((done) => process.nextTick(done));

/** Waits for the end of this round of the event loop. */
export const endOfRound = sharedWait((done) => void setImmediate(done));

/**
 * Lets a few callers in with each round, in the order in which they came; those who go on with work that has begun come first, so that
 * little is half done. Where fewer come, none of them waits. It only spreads the beginnings of the work, so work that takes long does
 * not hold up other work.
 */
export class RoundQueue {
  readonly #callersMax: () => number;
  readonly #goingOn: (() => void)[] = [];
  readonly #starting: (() => void)[] = [];
  #admitted = 0;

  /** `callersMax` is asked in each round for the most callers of it. */
  constructor(callersMax: () => number) {
    this.#callersMax = callersMax;
  }

  /** True if callers wait for a later round. */
  get isCrowded(): boolean {
    return this.#goingOn.length + this.#starting.length > 0;
  }

  /** Resolves when the caller may start. */
  start(): Promise<void> {
    return this.#enter(this.#starting);
  }

  /** Resolves when a caller that has started may go on. */
  goOn(): Promise<void> {
    return this.#enter(this.#goingOn);
  }

  async #enter(waiting: (() => void)[]): Promise<void> {
    // The number may have grown since others began to wait.
    if (this.isCrowded || this.#admitted >= this.#callersMax())
      return await new Promise((resolve) => waiting.push(resolve));
    if (this.#admitted === 0) setImmediate(this.#nextRound);
    this.#admitted += 1;
  }

  readonly #nextRound = (): void => {
    const most = this.#callersMax();
    const next = this.#goingOn.splice(0, most);
    next.push(...this.#starting.splice(0, most - next.length));
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
