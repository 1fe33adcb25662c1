/**
 * The records' part for budgets (F11): what calls of models may use, what they have used, and what is held for running ones.
 *
 * A driver must do the following.
 * - `reserve` and `settle` are one transaction each. If calls are reserved at the same moment, through any process, together
 *   they never hold more than what is left.
 * - Days are counted by the store's own clock. Each day has a count of its own, which is never deleted: a clock that is set
 *   forward and back continues the counts of the days that it comes to.
 * - Counts are history: they survive a restart.
 *
 * `TurnRecords.open` tells whether a turn has budgets, so that a turn without one needs no statement of this part.
 */
import type { Budget, BudgetHold, BudgetRefusal, BudgetState, BudgetTargets, CallAmount } from "../domain/budget.ts";

export interface BudgetRecords {
  /**
   * Stores a budget. One of the same target, period and unit is changed: it keeps its id, its time, its author and its counts.
   * Returns the stored budget.
   */
  set(budget: Budget): Promise<BudgetState>;
  /** Deletes a budget with its counts and holds. Returns false if there is none. */
  remove(id: string): Promise<boolean>;
  get(id: string): Promise<BudgetState | null>;
  /** Returns the budgets of an org, oldest first. */
  list(orgId: string): Promise<BudgetState[]>;
  /** Returns the budgets that calls with these targets count for, oldest first. */
  applying(targets: BudgetTargets): Promise<BudgetState[]>;
  /** Returns those of the ids that are the target of a budget. The order is undefined. */
  withBudget(targetIds: readonly string[]): Promise<string[]>;
  /**
   * Holds the bound of a call in all of its budgets, or in none. Budgets in `passed` are held whatever is left of them.
   * `turnId` and `step` name the call.
   */
  reserve(reservation: BudgetReservation): Promise<ReserveResult>;
  /**
   * Ends the holds of a call, and counts for each one what the call really used. A hold that is gone counts nothing, so a call
   * is settled again without harm.
   */
  settle(call: CallKey, used: UsedAmounts): Promise<void>;
  /** Ends the holds of calls whose end no one will report, and counts what was held: those of a turn, or of runners that are gone. */
  settleLost(lost: { turnId: string } | "of lost runners"): Promise<void>;
}

/**
 * What a call used of each budget, by the id of the budget. A budget that it does not name, or whose amount is null, counts what
 * was held. `nothing`: the call was not sent.
 */
export type UsedAmounts = ReadonlyMap<string, number | null> | "nothing";

export interface CallKey {
  turnId: string;
  step: number;
}

export interface BudgetReservation extends CallKey {
  runnerId: string;
  targets: BudgetTargets;
  bound: CallAmount;
  passed: readonly string[];
}

/** `refused` holds nothing. `refusals` has every budget that does not allow the call. */
export type ReserveResult =
  | { outcome: "reserved"; holds: BudgetHold[] }
  | { outcome: "refused"; refusals: BudgetRefusal[] };
