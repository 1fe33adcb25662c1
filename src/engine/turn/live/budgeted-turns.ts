/** Turns that got a budget after they were opened (F11). */
import { targetIdsOf } from "../../../domain/budget.ts";
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
