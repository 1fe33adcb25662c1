/** Waits for the end of this round of the event loop: what has arrived together has been handled then. */
export function endOfRound(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
