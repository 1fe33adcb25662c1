/**
 * The records' part for limits that hold across servers (H5): the number of running turns, and counters per window of time.
 *
 * A driver counts windows by the store's own clock. If two processes add at the same time, both are counted. The counters are
 * not history: a driver may lose them when the store restarts. `turns.open` enforces the limit on running turns.
 */
export interface LimitRecords {
  /** Returns how many turns run now: those that the user opened, and those in the org's sessions. */
  countRuns(who: { userId: string; orgId: string }): Promise<{ user: number; org: number }>;
  /**
   * Adds to the counter of the current window and returns the sum. It never refuses. If the clock was set back, the window
   * stays while it is at most the next one; otherwise a new one begins.
   */
  takeRate(taking: RateTaking): Promise<RateTaken>;
}

export interface RateTaking {
  /** The name of the counter. It may be any text. */
  scope: string;
  amount: number;
  /** The length of a window. Windows begin at multiples of it since the epoch, by the store's clock. */
  windowMs: number;
}
export interface RateTaken {
  /** The sum of this window, with the amount that was just added. */
  used: number;
  /** The sum of the previous window. */
  previous: number;
  /** How much of this window has passed. */
  elapsedMs: number;
}
