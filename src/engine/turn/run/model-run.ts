/** A turn while its model and its tools run. */
import type { TurnPlan } from "../prepare/turn-plan.ts";
import type { OpenedTurn } from "../live/turn-stages.ts";
import type { TurnRequests } from "./turn-requests.ts";

/** Its model and its tools run. */
export interface ModelRun extends OpenedTurn {
  plan: TurnPlan;
  requests: TurnRequests;
}
