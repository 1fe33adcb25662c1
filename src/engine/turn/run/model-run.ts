/** A turn whose model and tools run. */
import type { DeferredCall } from "../../../domain/tool.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";
import type { OpenedTurn } from "../live/turn-stages.ts";
import type { TurnRequests } from "./turn-requests.ts";

/** A turn whose model and tools run. */
export interface ModelRun extends OpenedTurn {
  plan: TurnPlan;
  requests: TurnRequests;
  /** The budgets that the next call may pass, because a person let it (F11). */
  passedBudgets: readonly string[];
  /** What a person must allow before the model is called again. Null: nothing. */
  waitsFor: DeferredCall | null;
}
