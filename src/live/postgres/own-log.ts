/**
 * The log of a turn that this process runs: what goes into its next row, and a copy of what is there, so that
 * readers in this process ask no server. An event is in the copy once its row is written (R2).
 */
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import type { LiveRow } from "./live-table.ts";

export class OwnLog {
  readonly #turnId: string;
  /** Null: it is not known yet what an earlier process left. */
  #events: SequencedEvent[] | null = null;
  #hasRow = false;
  #queue: TurnEvent[] = [];
  /** A row that was sent and not acknowledged: it may be there, so it is sent again as it was. */
  #sent: { row: LiveRow; events: TurnEvent[] } | null = null;

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  /** Null: only the server knows. */
  get events(): readonly SequencedEvent[] | null {
    return this.#events;
  }

  /** What is there already; null: the turn has no log yet. */
  load(events: SequencedEvent[] | null): void {
    this.#events = events ?? [];
    this.#hasRow = events !== null;
  }

  add(events: readonly TurnEvent[]): void {
    this.#queue.push(...events);
  }

  /** The row to send now; null: everything is written. */
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

  /** The row of `next` is written. */
  written(): void {
    const log = (this.#events ??= []);
    for (const event of this.#sent?.events ?? []) log.push({ seq: log.length + 1, event });
    this.#hasRow = true;
    this.#sent = null;
  }
}
