/** The events of a turn that has ended, while they are read. */
import { eventCount, eventsIn, type KeptEvent, type SequencedEvent } from "../../../domain/events.ts";
import { apart } from "../../../system/apart.ts";

/**
 * Holds the events in the form that is stored, and makes each when it is read. A long answer has thousands of events: as objects they take
 * five times the room of its text, for as long as a slow reader reads.
 */
export class KeptRun {
  readonly #kept: readonly KeptEvent[];
  /** The number of events. */
  readonly length: number;

  constructor(kept: readonly KeptEvent[]) {
    this.#kept = kept;
    this.length = kept.reduce((sum, event) => sum + eventCount(event), 0);
  }

  /** Yields the events after a position. */
  *after(seq: number): Generator<SequencedEvent> {
    let at = 0;
    for (const kept of this.#kept) {
      const end = at + eventCount(kept);
      if (end > seq) {
        for (const event of eventsIn(kept)) {
          at += 1;
          if (at > seq) yield { seq: at, event };
        }
      }
      at = end;
    }
  }
}

/** The runs that are being read. All who read one at the same time share it (R5). */
export class SharedRuns {
  readonly #begun = new Map<string, Promise<KeptRun>>();
  readonly #held = new Map<string, WeakRef<KeptRun>>();
  readonly #released = new FinalizationRegistry<string>((key) => {
    if (this.#held.get(key)?.deref() === undefined) this.#held.delete(key);
  });

  /** Returns the run that a reader holds under this key, or reads it. The content of a key never changes. */
  async get(key: string, read: () => Promise<KeptRun>): Promise<KeptRun> {
    const held = this.#held.get(key)?.deref();
    if (held !== undefined) return held;
    const begun = this.#begun.get(key) ?? apart(read).finally(() => this.#begun.delete(key));
    this.#begun.set(key, begun);
    const run = await begun;
    if (this.#held.get(key)?.deref() !== run) {
      this.#held.set(key, new WeakRef(run));
      this.#released.register(run, key);
    }
    return run;
  }
}
