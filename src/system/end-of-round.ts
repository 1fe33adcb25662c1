/** Waits for moments at which everything that came together has been handled. All who wait for the same moment share one callback. */

/** Waits until the promises that are settled by now, and those that they settle, have been handled. No input or timer comes in between. */
export const endOfTick = sharedWait((done) => process.nextTick(done));

/** Waits for the end of this round of the event loop. */
export const endOfRound = sharedWait((done) => void setImmediate(done));

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
