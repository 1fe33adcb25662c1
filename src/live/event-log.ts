/**
 * The contract for the live log: the events of running turns, which every permitted client can read from any position while
 * they arrive (V2, V3). When a turn is finished, the engine stores its events as a blob and drops them here.
 *
 * A driver must do the following.
 * - `append` adds events of one turn, in order. Only the turn's runner calls it, one call at a time. It does not wait for
 *   listeners: a slow or absent one neither blocks nor loses anything (R5).
 * - `mayWrite` says whether the runner still owns the turn. A driver calls it directly before each write, also before a retry
 *   and before a write that it has delayed. Once it returns false, the driver writes nothing more of the turn, and `append`
 *   rejects with `runner_lost`: another process ends the turn, and what it has read of the log is final (R1).
 * - Appended events survive kill -9 of the process once `append` has resolved. They need not survive power loss. After a
 *   crash `read` returns an unbroken prefix of what was appended (R2).
 * - `read` returns events after a position without a gap. It may return only a part of them, but at least the next one if
 *   there is one. A caller that wants all of them reads until nothing is returned (`readAll`).
 * - A recovery reads `patiently`, because what it does not find will be in no record (R2). A driver that has the newest events in a
 *   place that may be unreachable for a moment waits for that place, a few seconds at most. Any other driver ignores it.
 * - `wait` resolves when there may be an event after `afterSeq`, when the log was dropped, or when the signal aborts. It may
 *   resolve too early, but it must resolve in the end. Appends by other processes wake it too (B4).
 * - `read` of a turn without a log returns null. `wait` on one resolves after a short while.
 * - A failed append is `storage_full` or `storage_failed`, and the caller must not repeat it: the driver keeps its events in
 *   order, and writes them before those of the next append.
 * - Anything but the id of a turn is refused with `storage_failed`. Events are values, and neither side changes them.
 */

import { AptoveError } from "../domain/errors.ts";
import type { SequencedEvent, TurnEvent } from "../domain/events.ts";
import { isId } from "../domain/ids.ts";

/** Returns false once another process may have taken over the turn. */
export type MayWrite = () => boolean;

export type Patience = "patiently";

export interface EventLog {
  append(turnId: string, events: readonly TurnEvent[], mayWrite?: MayWrite): Promise<void>;
  /** Returns the events after `afterSeq`. The list is empty if there is none yet. */
  read(turnId: string, afterSeq: number, patience?: Patience): Promise<SequencedEvent[] | null>;
  wait(turnId: string, afterSeq: number, signal: AbortSignal): Promise<void>;
  /** Returns the turns that have a log, including those whose process was killed before it dropped them. The order is undefined. */
  list(): Promise<string[]>;
  /** Deletes the log of a turn and wakes the waiting readers. Dropping it twice is no error. */
  drop(turnId: string): Promise<void>;
  /** Wakes the waiting readers. Logs that were not dropped are kept, if the driver keeps anything. */
  close(): Promise<void>;
}

/** Returns all events of a turn so far, or null if it has no log. */
export async function readAll(log: EventLog, turnId: string, patience?: Patience): Promise<SequencedEvent[] | null> {
  const all = await log.read(turnId, 0, patience);
  if (all === null) return null;
  for (let more = all; more.length > 0;) {
    more = (await log.read(turnId, all.length, patience)) ?? [];
    all.push(...more);
  }
  return all;
}

/** Throws `runner_lost` if the runner does not own the turn any more. Every driver calls it before it writes. */
export function checkMayWrite(turnId: string, mayWrite: MayWrite | undefined): void {
  if (mayWrite?.() === false) throw new AptoveError("runner_lost", `this process has lost turn ${turnId}`);
}

/** Throws `storage_failed` if the text is not the id of a turn. Every driver calls it. */
export function checkTurnId(turnId: string): void {
  if (!isId(turnId)) throw new AptoveError("storage_failed", `${JSON.stringify(turnId)} is not the id of a turn`);
}
