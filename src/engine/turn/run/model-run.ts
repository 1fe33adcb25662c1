/** A turn on its way through the model: what the files of a run hand to each other. */
import type { LiveTurn } from "../live/live-turns.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";
import type { RunRecorder } from "../live/run-recorder.ts";
import type { TurnRequests } from "./turn-requests.ts";

export interface ModelRun {
  sessionId: string;
  plan: TurnPlan;
  /** Key of the opening blob. */
  opening: string;
  recorder: RunRecorder;
  requests: TurnRequests;
  live: LiveTurn;
  signal: AbortSignal;
}
