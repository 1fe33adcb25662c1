/** A turn whose model and tools run. */
import type { TurnPlan } from "../prepare/turn-plan.ts";
import type { OpenedTurn } from "../live/turn-stages.ts";
import type { TurnRequests } from "./turn-requests.ts";

/** A turn whose model and tools run. */
export interface ModelRun extends OpenedTurn {
  plan: TurnPlan;
  requests: TurnRequests;
}
