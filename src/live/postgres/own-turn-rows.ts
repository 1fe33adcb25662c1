/**
 * The log of a turn that this process runs: the events for its next row, and a copy of the written ones, so that readers in
 * this process send no query. An event is in the copy only after its row is written (R2).
 */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import type { LiveRow } from "./live-table.ts";

export class OwnTurnRows {
  readonly #turnId: string;
  /** The written events. Null until it is known what an earlier process left. */
  #events: SequencedEvent[] | null = null;
  #hasRow = false;
  #queue: TurnEvent[] = [];
  /** A row that was sent but not acknowledged. It may be stored, so it is sent again unchanged. */
  #sent: { row: LiveRow; events: TurnEvent[] } | null = null;

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  /** The written events. Null if only the server knows them. */
  get events(): readonly SequencedEvent[] | null {
    return this.#events;
  }

  /** Sets the events that are stored already. Null if the turn has no log yet. */
  load(events: SequencedEvent[] | null): void {
    this.#events = events ?? [];
    this.#hasRow = events !== null;
  }

  add(events: readonly TurnEvent[]): void {
    this.#queue.push(...events);
  }

  /** Returns the row to send now. Null if everything is written. */
  next(): LiveRow | null {
    if (this.#sent !== null) return this.#sent.row;
    if (this.#queue.length === 0 && this.#hasRow) return null;
    const events = this.#queue;
    this.#queue = [];
    const previousSeq = this.#events?.length ?? 0;
    const lastSeq = previousSeq + events.length;
    this.#sent = { row: { turnId: this.#turnId, previousSeq, lastSeq, events: JSON.stringify(events) }, events };
    return this.#sent.row;
  }

  /** Records that the row of `next` was written. */
  written(): void {
    const log = (this.#events ??= []);
    for (const event of this.#sent?.events ?? []) log.push({ seq: log.length + 1, event });
    this.#hasRow = true;
    this.#sent = null;
  }
}
