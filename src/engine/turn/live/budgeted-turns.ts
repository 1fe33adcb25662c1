/** Turns that got a budget after they were opened, and calls whose end the store could not count at once (F11). */
import { targetIdsOf } from "../../../domain/budget.ts";
import type { BudgetRecords, CallKey, UsedAmounts } from "../../../records/record-store.ts";
import { budgetTargets } from "../../access/budgets.ts";
import type { EngineCore } from "./engine-core.ts";
import type { LiveTurn } from "./live-turn.ts";

/**
 * Marks the turns that run here and have a budget by now, so that their next calls ask for it. It runs when a budget is set
 * here, and with the renewal of leases, so that a budget that is set at another server counts soon too.
 */
export async function noteBudgets(core: EngineCore): Promise<void> {
  const running = [core.live, ...core.unkeptLive].flatMap((some) => some.all().flatMap(targetsOfRunning));
  if (running.length === 0) return;
  const found = new Set(await core.deps.records.budgets.withBudget([...new Set(running.flatMap(({ ids }) => ids))]));
  for (const { live, ids } of running) if (ids.some((id) => found.has(id))) live.hasBudget = true;
}

function targetsOfRunning(live: LiveTurn): { live: LiveTurn; ids: string[] }[] {
  if (live.hasBudget || live.state.name !== "running") return [];
  return [{ live, ids: targetIdsOf(budgetTargets(live.state.accepted.caller, live.sessionId)) }];
}

/** The end of a call in the budgets that it counts for. */
export interface CallCount {
  call: CallKey;
  used: UsedAmounts;
}

/** The calls that wait, by the records of their budgets. Turns whose content is not kept have the same ones. */
const waiting = new WeakMap<BudgetRecords, Set<CallCount>>();

/**
 * Counts a call that has ended. If the store fails, the call is counted later: the turn need not fail for it, and what was
 * held must not take from the budgets for as long as this process lives. Never rejects.
 */
export async function countCall(core: EngineCore, count: CallCount): Promise<void> {
  const { records, report } = core.deps;
  try {
    await records.budgets.settle(count.call, count.used);
  } catch (error) {
    report(
      `the call ${count.call.step} of ${count.call.turnId} could not be counted in its budgets; it will be tried again`,
      error,
    );
    countLater(core, count);
  }
}

export function countLater({ deps }: EngineCore, count: CallCount): void {
  const { budgets } = deps.records;
  waiting.set(budgets, (waiting.get(budgets) ?? new Set()).add(count));
}

/** Counts the calls that the store could not count before. */
export async function countWaiting({ deps }: EngineCore): Promise<void> {
  const { budgets } = deps.records;
  const counts = waiting.get(budgets) ?? new Set();
  for (const count of [...counts]) {
    await budgets.settle(count.call, count.used);
    counts.delete(count);
  }
}
