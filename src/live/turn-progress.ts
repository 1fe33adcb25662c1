/**
 * The progress of turns that run in other processes, as far as this process was informed. A listener that waits after an
 * event is woken only by a later one, and one that starts to wait after the notification arrived does not wait for it.
 */
import { limits } from "../domain/limits.ts";
import { TurnWaiters } from "./turn-waiters.ts";

/** The maximum number of remembered turns. The listener of a forgotten turn finds new events by polling. */
const turnsMax = 4_096;
/** The value for a turn whose log was dropped. */
const dropped = -1;

export interface TurnProgress {
  turnId: string;
  /** The number of its last event. Null if its log was dropped. */
  seq: number | null;
}

/** Reads a notification between servers: `<turn id>:<number of its last event>`, separated by commas. No number: dropped. */
export function readTurnProgress(message: string): TurnProgress[] {
  return message.split(",").map((progress) => {
    const [turnId = "", seq = ""] = progress.split(":");
    return { turnId, seq: seq === "" ? null : Number(seq) };
  });
}

export class TurnProgressTracker {
  readonly #latest = new Map<string, number>();
  readonly #waiters = new TurnWaiters();
  #missed = 0;

  /** Records that the turn has an event `seq`. */
  report(turnId: string, seq: number): void {
    const known = this.#latest.get(turnId) ?? 0;
    this.#record(turnId, known === dropped ? seq : Math.max(known, seq));
  }

  reportAll(progress: readonly TurnProgress[]): void {
    for (const { turnId, seq } of progress) {
      if (seq === null) this.reportDropped(turnId);
      else this.report(turnId, seq);
    }
  }

  reportDropped(turnId: string): void {
    this.#record(turnId, dropped);
  }

  #record(turnId: string, progress: number): void {
    this.#latest.delete(turnId);
    this.#latest.set(turnId, progress);
    const [oldest] = this.#latest.keys();
    if (this.#latest.size > turnsMax && oldest !== undefined) this.#latest.delete(oldest);
    this.#waiters.wake(turnId);
  }

  /** Wakes all listeners, because a notification may have been missed. */
  reportMissed(): void {
    this.#missed += 1;
    this.#waiters.wakeAll();
  }

  /** Resolves when there may be an event after `afterSeq`, after `ms` milliseconds at the latest. */
  async wait(turnId: string, afterSeq: number, { signal, ms }: { signal: AbortSignal; ms: number }): Promise<void> {
    const latest = (): number => this.#latest.get(turnId) ?? 0;
    const missed = this.#missed;
    if (latest() === dropped) {
      // The log may have been dropped after the listener read.
      return await this.#waiters.wait(turnId, signal, Math.min(ms, limits.livePollMs));
    }
    const end = performance.now() + ms;
    for (let left = ms; left > 0; left = end - performance.now()) {
      if (signal.aborted || this.#missed !== missed || latest() > afterSeq || latest() === dropped) return;
      await this.#waiters.wait(turnId, signal, left);
    }
  }
}
