/** The engine's API for budgets (F11). */
import type { BudgetStart, BudgetState } from "../../domain/budget.ts";
import type { Caller } from "../../domain/caller.ts";

export interface Budgets {
  /**
   * Returns the budgets that the caller may see, oldest first: those of the caller, of the caller's keys and org, and of sessions
   * that the caller may see; for an admin also those of all persons and keys of the org.
   */
  list(caller: Caller): Promise<BudgetState[]>;
  /**
   * Makes a budget, or changes the one of the same target, period and unit, which keeps its counts. An admin may do so for the
   * org, its persons and its keys; who may change a session, for that session. Throws `not_found`, `forbidden`,
   * `request_invalid`.
   */
  set(caller: Caller, start: BudgetStart): Promise<BudgetState>;
  /** Removes a budget with its counts. Throws `not_found`, `forbidden`. */
  remove(caller: Caller, id: string): Promise<void>;
}
