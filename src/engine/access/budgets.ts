/** Whom the calls of a caller's turn count for (F11). */
import type { BudgetTargets } from "../../domain/budget.ts";
import type { Caller } from "../../domain/caller.ts";

export function budgetTargets({ userId, orgId, keyId }: Caller, sessionId: string): BudgetTargets {
  return { sessionId, userId, orgId, keyId: keyId ?? null };
}
