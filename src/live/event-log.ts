/**
 * The contract for the live log: the events of turns that run, readable by anybody who is allowed to, from
 * any place, while they come (V2, V3). When a turn is finished the engine keeps its events as a blob and
 * drops them here.
 *
 * What a driver must do:
 * - `append` adds events of one turn, in order; only the turn's runner calls it, one call at a time. It does
 *   not wait for listeners: a slow or absent one neither blocks nor loses anything (R5).
 * - What was appended survives kill -9 of the process once `append` has resolved; it need not survive power
 *   loss. After a crash `read` gives an unbroken prefix of what was appended (R2).
 * - `read` gives the events behind a place as far as they can be had at once, without a gap: at least the next one
 *   where there is one. Who wants all reads on until nothing comes (`readAll`).
 * - `wait` resolves when there may be an event after `seq`, or the log was dropped, or the signal aborts.
 *   It may resolve too early; it must not stay silent for ever. Other processes' appends count (B4).
 * - `read` of a turn without a log gives null. `wait` on one resolves after a short while.
 * - An append that fails is `storage_full` or `storage_failed` and must not be repeated: its events keep their
 *   place, and are written before those of the next append.
 * - Anything but an id for a turn is refused with `storage_failed`. Events are values: nobody changes them.
 */

import { AptoveError } from "../domain/errors.ts";
import type { SequencedEvent, TurnEvent } from "../domain/events.ts";
import { isId } from "../domain/ids.ts";

export interface EventLog {
  append(turnId: string, events: readonly TurnEvent[]): Promise<void>;
  /** The events after `afterSeq`; empty: there is none yet. */
  read(turnId: string, afterSeq: number): Promise<SequencedEvent[] | null>;
  wait(turnId: string, afterSeq: number, signal: AbortSignal): Promise<void>;
  /** Turns that there is a log of, in any order: also of turns whose process was killed before it dropped them. */
  list(): Promise<string[]>;
  /** Forgets the log of a turn and wakes whoever waits on it. Dropping it twice is no error. */
  drop(turnId: string): Promise<void>;
  /** Wakes whoever waits. Logs that were not dropped are kept, as far as the driver keeps anything. */
  close(): Promise<void>;
}

/** All events of a turn so far; null: it has no log. */
export async function readAll(log: EventLog, turnId: string): Promise<SequencedEvent[] | null> {
  const all = await log.read(turnId, 0);
  if (all === null) return null;
  for (let more = all; more.length > 0;) {
    more = (await log.read(turnId, all.length)) ?? [];
    all.push(...more);
  }
  return all;
}

/** For drivers: throws `storage_failed` for what is not the id of a turn. */
export function checkTurnId(turnId: string): void {
  if (!isId(turnId)) throw new AptoveError("storage_failed", `${JSON.stringify(turnId)} is not the id of a turn`);
}
