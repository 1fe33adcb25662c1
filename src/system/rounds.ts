/**
 * Rounds of the event loop: waiting for the moment at which everything that came together has been handled, and spreading work that
 * comes at once. All who wait for the same moment share one callback.
 */

/** Waits until the promises that are settled by now, and those that they settle, have been handled. No input or timer comes in between. */
export const endOfTick = sharedWait((done) => process.nextTick(done));

/** Waits for the end of this round of the event loop. */
export const endOfRound = sharedWait((done) => void setImmediate(done));

/**
 * Returns a function that resolves for this many callers in each round, in the order of the calls. Where fewer come, none of them waits.
 * It only spreads the beginnings of the work, so work that takes long does not hold up other work. The number is asked for in each round.
 */
export function fewARound(callersMax: () => number): () => Promise<void> {
  const waiting: (() => void)[] = [];
  let admitted = 0;
  const nextRound = (): void => {
    const next = waiting.splice(0, callersMax());
    admitted = next.length;
    if (admitted > 0) setImmediate(nextRound);
    for (const admit of next) admit();
  };
  return async () => {
    if (admitted >= callersMax()) return await new Promise((resolve) => waiting.push(resolve));
    if (admitted === 0) setImmediate(nextRound);
    admitted += 1;
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
