/**
 * The records' part for runners: the processes that run turns, the leases by which each turn belongs to one of them, and the
 * controls that other processes send to them (R1, R2, R3).
 *
 * A driver must do the following.
 * - Leases begin, are renewed and expire by the store's own clock, because the clocks of servers may differ by minutes.
 *   They are given as durations. A runner counts its own time, from before its request.
 * - `takeLostTurns` gives each turn to one caller only. From then on the former runner cannot write to it (R1).
 * - A control for which `insertControl` returned true is never lost: `takeControls` returns it once, or `turns.finish` reports
 *   or drops it.
 */
import type { PendingTurn } from "../domain/turn.ts";

export interface RunnerRecords {
  insert(runner: Runner): Promise<void>;
  get(id: string): Promise<Runner | null>;
  /** Returns the longest-running process first; those of the same time by id. */
  list(): Promise<Runner[]>;
  /** Does nothing if there is no such runner. */
  delete(id: string): Promise<void>;

  /**
   * Gives each of the named turns that is pending and the runner's a lease of `leaseMs` from now. A longer lease stays.
   * Returns the ids of these turns; the runner has lost the others.
   */
  renewLeases(renewal: LeaseRenewal): Promise<string[]>;
  /**
   * Gives pending turns to a runner that will fail them (R2): turns whose lease expired, or whose runner is one of
   * `deadRunnerIds`. The turn that was lost first comes first. Each turn gets a new lease.
   */
  takeLostTurns(taking: LostTurnsTaking): Promise<PendingTurn[]>;

  /** Returns false and writes nothing if the turn is not pending. Changes nothing if the control's id exists. */
  insertControl(control: TurnControl): Promise<boolean>;
  /** Returns each control of the runner's pending turns exactly once, the oldest first. Drops the controls of finished turns. */
  takeControls(runnerId: string): Promise<TurnControl[]>;
}

/** A process that runs turns. */
export interface Runner {
  id: string;
  host: string;
  /** Identifies the boot of the machine, so that a process id that was used again does not look like the old process. */
  bootId: string;
  pid: number;
  /** The system's start time of the process. Empty where the system does not report it. */
  processStart: string;
  startedAt: number;
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
  /** Runners that are known to have ended. Their turns are lost, whatever their leases are. */
  deadRunnerIds: readonly string[];
  limit: number;
  /** Selects only this turn. */
  turnId?: string;
}
/** What another process requests from the process that runs the turn. */
export interface TurnControl {
  id: string;
  turnId: string;
  kind: "interrupt" | "steer";
  /** The message of a steer. */
  text: string;
  userId: string;
  at: number;
}
