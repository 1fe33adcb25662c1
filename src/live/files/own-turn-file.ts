/**
 * The log of a turn that this process runs: it appends to the turn's file, and keeps a copy of the events, so that readers in
 * this process never read the disk. An event is in the copy only after it is in the file, so no reader has seen an event that
 * a crash can take away (R2). Nothing is synced, so nothing waits for the disk: a line is in the page cache in less time than
 * it takes to hand it to another thread.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import type { SequencedEvent, TurnEvent } from "../../domain/events.ts";
import { noFollowFlag } from "../../system/read-files.ts";
import { eventLine, readEventLines } from "./event-lines.ts";

export class OwnTurnFile {
  readonly events: SequencedEvent[];
  readonly #file: number;
  /** The length of the whole lines, in bytes. */
  #length: number;
  /** True if an incomplete line may follow them. */
  #isTorn: boolean;
  /** Events that could not be written. They keep their order, and are written before the next append's. */
  #queue: readonly TurnEvent[] = [];

  /** Opens the file. If it exists, its process was killed, and the log continues after the last whole line. */
  constructor(path: string) {
    this.#file = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | noFollowFlag, 0o600);
    try {
      const bytes = fstatSync(this.#file).size === 0 ? Buffer.alloc(0) : readFileSync(this.#file);
      const found = readEventLines(bytes, 0);
      this.events = found.events;
      this.#length = found.length;
      this.#isTorn = found.length < bytes.length;
    } catch (error) {
      closeSync(this.#file);
      throw error;
    }
  }

  /** Appends the events. They are in the file and readable on return. */
  append(events: readonly TurnEvent[]): void {
    const batch = this.#queue.length === 0 ? events : [...this.#queue, ...events];
    const lines = batch.map(eventLine);
    const bytes = Buffer.from(lines.join(""));
    let written = 0;
    try {
      if (this.#isTorn) ftruncateSync(this.#file, this.#length);
      this.#isTorn = false;
      while (written < bytes.length) written += writeSync(this.#file, bytes, written);
    } finally {
      this.#queue = this.#take(batch, { lines, written, isWhole: written === bytes.length });
    }
  }

  /**
   * Moves the events whose lines are complete in the file to the copy, and returns the others. Another process may have read
   * such a line already, so it counts even if the write failed after it.
   */
  #take(
    batch: readonly TurnEvent[],
    { lines, written, isWhole }: { lines: readonly string[]; written: number; isWhole: boolean },
  ): readonly TurnEvent[] {
    let length = 0;
    let taken = 0;
    for (const event of batch) {
      const bytes = isWhole ? 0 : Buffer.byteLength(lines[taken] ?? "");
      if (length + bytes > written) break;
      this.events.push({ seq: this.events.length + 1, event });
      length += bytes;
      taken += 1;
    }
    this.#length += isWhole ? written : length;
    this.#isTorn ||= !isWhole && written > length;
    return batch.slice(taken);
  }

  close(): void {
    closeSync(this.#file);
  }
}
