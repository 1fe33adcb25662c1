/** The readers in this process that wait for events, by turn. All drivers share this part. */

export class TurnWaiters {
  readonly #byTurn = new Map<string, Set<() => void>>();

  /** Resolves at the next wake of the turn, when the signal aborts, or after `msMax` milliseconds. */
  async wait(turnId: string, signal: AbortSignal, msMax?: number): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const waiting = this.#byTurn.get(turnId) ?? new Set();
    this.#byTurn.set(turnId, waiting.add(wake));
    signal.addEventListener("abort", wake);
    const timer = msMax === undefined ? undefined : setTimeout(wake, msMax);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", wake);
    waiting.delete(wake);
    if (waiting.size === 0) this.#byTurn.delete(turnId);
  }

  wake(turnId: string): void {
    for (const wake of this.#byTurn.get(turnId) ?? []) wake();
  }

  wakeAll(): void {
    for (const turnId of this.#byTurn.keys()) this.wake(turnId);
  }
}
