/** Whom the calls of a caller's turn count for, and who may set a budget (F11). */
import type { Budget, BudgetTargets } from "../../domain/budget.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { adminOnly, noLimitedKey } from "./access.ts";
import { changeableSession } from "./visible.ts";

export function budgetTargets({ userId, orgId, keyId }: Caller, sessionId: string): BudgetTargets {
  return { sessionId, userId, orgId, keyId: keyId ?? null };
}

type Target = Pick<Budget, "scope" | "targetId">;

/** Throws `not_found`, `forbidden` for a caller who may not set the budget. A key never changes its own budget. */
export async function budgetSettersOnly(
  deps: EngineDependencies,
  caller: Caller,
  { scope, targetId }: Target,
): Promise<void> {
  noLimitedKey(caller, "change budgets");
  if (scope === "session") {
    await changeableSession(deps, caller, targetId);
    return;
  }
  adminOnly(caller, `change the budget of ${scope === "org" ? "the org" : `a ${scope}`}`);
  if (scope === "key" && targetId === caller.keyId)
    throw new AptoveError("forbidden", "a key may not change its own budget; use another key");
}

export async function maySetBudget(deps: EngineDependencies, caller: Caller, target: Target): Promise<boolean> {
  try {
    await budgetSettersOnly(deps, caller, target);
    return true;
  } catch (error) {
    if (error instanceof AptoveError) return false;
    throw error;
  }
}
