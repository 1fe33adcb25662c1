/**
 * The records' part for runners: the processes that run turns, the leases by which each turn belongs to one of them, and the
 * controls that other processes send to them (R1, R2, R3).
 *
 * A driver must do the following.
 * - Leases begin, are renewed and expire by the store's own clock, because the clocks of servers may differ by minutes.
 *   They are given as durations. A runner counts its own time, from before its request.
 * - `takeLostTurns` gives each turn to one caller only. From then on the former runner cannot write to it (R1).
 * - A control for which `insertControl` returned true is never lost: `listControls` returns it until `deleteControls` deletes
 *   it, and `turns.finish` refuses to finish because of it, or drops it.
 */
import type { PendingTurn } from "../domain/turn.ts";

export interface RunnerRecords {
  /** Stores the runner. One that is stored gets the new time. */
  insert(runner: Runner): Promise<void>;
  get(id: string): Promise<Runner | null>;
  /** Returns the runner that started first, first; those of the same time by id. */
  list(): Promise<Runner[]>;
  /** Does nothing if there is no such runner. */
  delete(id: string): Promise<void>;

  /**
   * Renews the leases of the named turns that are pending and belong to the runner: each ends `leaseMs` from now, or later if
   * it had a longer lease. Returns the ids of these turns. The runner has lost the others.
   */
  renewLeases(renewal: LeaseRenewal): Promise<string[]>;
  /**
   * Gives lost turns to a runner, which will fail them (R2). A pending turn is lost if its lease expired, or if its runner is one
   * of `deadRunnerIds`. The turn that was lost first comes first. Each turn gets a new lease.
   */
  takeLostTurns(taking: LostTurnsTaking): Promise<LostTurn[]>;

  /**
   * Returns false and writes nothing if the turn is not pending. A control whose id exists changes nothing: a message may come
   * twice, so that returns true, but of two answers the first one counts, so the second one returns false.
   */
  insertControl(control: TurnControl): Promise<boolean>;
  /** Returns the controls of the runner's pending turns, the oldest first. Drops the controls of finished turns. */
  listControls(runnerId: string): Promise<TurnControl[]>;
  /** Deletes controls that were carried out. Ignores unknown ids. */
  deleteControls(ids: readonly string[]): Promise<void>;
}

/** A process that runs turns. */
export interface Runner {
  id: string;
  host: string;
  /** The id of the machine's boot. It tells a process from an older one whose process id was used again. */
  bootId: string;
  pid: number;
  /** The namespace of the process id as the system states it. Absent if the system has none, or an earlier version wrote the runner. */
  pidNamespace?: string;
  /** The start time of the process as the system states it. Empty if the system does not report it. */
  processStart: string;
  /** The time of the start, or at which a runner that goes on was noted again. */
  startedAt: number;
  /**
   * The identity of the database of its machine that the process serves (device and inode). A copy of the records has another one.
   * Absent if the records are shared by machines, or an earlier version wrote the runner.
   */
  records?: string;
}
export interface LeaseRenewal {
  runnerId: string;
  turnIds: readonly string[];
  leaseMs: number;
}
export interface LostTurnsTaking {
  /** The runner that takes the turns. It also gets its own turns whose lease expired. */
  runnerId: string;
  leaseMs: number;
  /** Runners that are known to have ended. Their turns are lost even if their leases have not expired. */
  deadRunnerIds: readonly string[];
  /** Runners whose turns are not lost, even if their leases have expired. Absent: none. */
  sparedRunnerIds?: readonly string[];
  limit: number;
  /** If given, selects only this turn. */
  turnId?: string;
}
/** A turn that was taken over. */
export interface LostTurn {
  /** The turn with its new runner. */
  turn: PendingTurn;
  /** The runner that lost it. */
  lostBy: string;
}
/** A request that another process sends to the process that runs the turn. */
export interface TurnControl {
  id: string;
  turnId: string;
  kind: "interrupt" | "steer" | "answer";
  /** The message of a steer, or the answer to a question as JSON. */
  text: string;
  userId: string;
  at: number;
}
