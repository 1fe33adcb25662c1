/** Budgets as people set and see them (F11). */
import {
  budgetTokensMax,
  budgetUsdMax,
  nanoUsd,
  shownAmount,
  type Budget,
  type BudgetScope,
  type BudgetStart,
  type BudgetState,
} from "../../domain/budget.ts";
import type { Caller } from "../../domain/caller.ts";
import { AptoveError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/ids.ts";
import { audited } from "../access/audit.ts";
import { budgetSettersOnly } from "../access/budgets.ts";
import { maySee } from "../access/visible.ts";
import type { Budgets } from "../engine.ts";
import type { EngineDependencies } from "../dependencies.ts";
import { noteBudgets } from "../turn/live/budgeted-turns.ts";
import type { EngineCore } from "../turn/live/engine-core.ts";
import { userOfOrg } from "./people.ts";

export function budgets(core: EngineCore): Budgets {
  const { deps } = core;
  return {
    list: async (caller) => {
      const found = await deps.records.budgets.list(caller.orgId);
      const isShown = await Promise.all(found.map((budget) => maySeeBudget(deps, caller, budget)));
      return found.filter((_, n) => isShown[n] === true);
    },
    set: async (caller, start) => {
      const targetId = start.targetId ?? ownTarget(caller, start.scope);
      const { scope, period, unit, limit, onLimit = "fail" } = start;
      const facts = { scope, period, unit, limit: shownAmount(start, limit), onLimit };
      return await audited(deps, { by: caller, action: "budget.set", target: targetId, facts }, () =>
        setBudget(core, caller, { ...start, targetId }),
      );
    },
    remove: async (caller, id) => {
      await audited(deps, { by: caller, action: "budget.remove", target: id }, () => removeBudget(deps, caller, id));
    },
  };
}

function ownTarget({ userId, orgId, keyId }: Caller, scope: BudgetScope): string {
  if (scope === "person") return userId;
  if (scope === "org") return orgId;
  if (scope === "key" && keyId !== undefined) return keyId;
  throw new AptoveError("request_invalid", `name the ${scope} of the budget`);
}

async function setBudget(
  core: EngineCore,
  caller: Caller,
  start: BudgetStart & { targetId: string },
): Promise<BudgetState> {
  const { deps } = core;
  const { scope, targetId, period, unit, limit, unknownPrice = null, onLimit = "fail" } = start;
  await mayChange(deps, caller, { scope, targetId });
  const max = unit === "usd" ? nanoUsd(budgetUsdMax) : budgetTokensMax;
  if (!Number.isSafeInteger(limit) || limit < 0 || limit > max) {
    const most = unit === "usd" ? `$${budgetUsdMax}` : `${budgetTokensMax} tokens`;
    throw new AptoveError("request_invalid", `a budget is from 0 to ${most}`);
  }
  if (unknownPrice !== null && (unit === "tokens" || !Number.isSafeInteger(unknownPrice) || unknownPrice <= 0))
    throw new AptoveError("request_invalid", "only a budget in dollars has a price for unknown models, above 0");
  const made: Budget = {
    id: newId(),
    orgId: caller.orgId,
    scope,
    targetId,
    period,
    unit,
    limit,
    unknownPrice,
    onLimit,
    createdAt: deps.now(),
    createdBy: caller.userId,
  };
  const stored = await deps.records.budgets.set(made);
  await noteBudgets(core);
  return stored;
}

async function removeBudget(deps: EngineDependencies, caller: Caller, id: string): Promise<void> {
  const budget = isId(id) ? await deps.records.budgets.get(id) : null;
  if (budget?.orgId !== caller.orgId || !(await maySeeBudget(deps, caller, budget))) throw noBudget(id);
  await mayChange(deps, caller, budget);
  if (!(await deps.records.budgets.remove(id))) throw noBudget(id);
}

function noBudget(id: string): AptoveError {
  return new AptoveError("not_found", `there is no budget ${JSON.stringify(id)}`);
}

type Target = Pick<Budget, "scope" | "targetId">;

/** Throws `not_found`, `forbidden`. */
async function mayChange(deps: EngineDependencies, caller: Caller, { scope, targetId }: Target): Promise<void> {
  await budgetSettersOnly(deps, caller, { scope, targetId });
  if (scope === "person" && targetId !== caller.userId) await userOfOrg(deps, caller, targetId);
  if (scope === "org" && targetId !== caller.orgId) throw missing(scope, targetId);
  if (scope !== "key") return;
  const key = isId(targetId) ? await deps.records.keys.get(targetId) : null;
  if (key?.orgId !== caller.orgId) throw missing(scope, targetId);
}

function missing(scope: BudgetScope, id: string): AptoveError {
  return new AptoveError("not_found", `there is no ${scope} ${JSON.stringify(id)}`);
}

async function maySeeBudget(deps: EngineDependencies, caller: Caller, { scope, targetId }: Target): Promise<boolean> {
  const isAdmin = caller.role === "admin" && caller.deviceId === undefined;
  switch (scope) {
    case "org":
      return true;
    case "person":
      return isAdmin || targetId === caller.userId;
    case "key":
      return isAdmin || (await deps.records.keys.get(targetId))?.userId === caller.userId;
    case "session": {
      const session = await deps.records.sessions.get(targetId);
      return session?.deletedAt === null && (await maySee(deps, caller, session));
    }
  }
}
