/**
 * The records' part for turns whose content is not kept (O3). A row has counts, and never a text of a turn.
 *
 * `failLost` is safe beside other processes: a row is lost if its runner is not among the runners any more.
 */
import type { Millis } from "../domain/ids.ts";
import type { ErrorCode } from "../domain/errors.ts";
import type { Usage } from "../domain/usage.ts";

/** What remains of such a turn: who ran it and when, how it ended, and what it used. */
export interface UnkeptTurn {
  id: string;
  orgId: string;
  userId: string;
  /** The process that runs the turn, or ran it. */
  runnerId: string;
  startedAt: Millis;
  /** A keyed hash of the request. The key is only in the memory of that process. */
  requestHash: string;
  /** Null as long as the turn runs. */
  end: UnkeptEnd | null;
}

export interface UnkeptEnd {
  at: Millis;
  status: "completed" | "failed";
  /** The code of the failure. Null if there is none. */
  code: ErrorCode | null;
  provider: string;
  model: string;
  modelRequests: number;
  usage: Usage;
}

export interface UnkeptRecords {
  /** Inserts a turn that begins. */
  insert(turn: UnkeptTurn): Promise<void>;
  /** Ends a turn that runs. Changes nothing if it has ended. */
  finish(id: string, end: UnkeptEnd): Promise<void>;
  /** Ends the running turns of runners that are gone, as failed with `runner_lost`. Returns how many there were. */
  failLost(at: Millis): Promise<number>;
  /** Returns a user's turns, newest first. */
  list(userId: string, page: { limit: number }): Promise<UnkeptTurn[]>;
}

/** The end of a turn whose runner is gone. Nothing else is known of it. */
export function lostEnd(at: Millis): UnkeptEnd {
  const usage = { input: 0, output: 0, cached: 0, reasoning: 0, total: 0, isPartial: true } as const;
  return { at, status: "failed", code: "runner_lost", provider: "", model: "", modelRequests: 0, usage };
}
