/**
 * A turn on its way through the engine: one value that grows from stage to stage. Each function takes the stage that it
 * needs. `run-turn.ts` is the sequence.
 */
import type { Failure } from "../../../domain/errors.ts";
import type { StopReason } from "../../../domain/events.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import type { PendingTurn } from "../../../domain/turn.ts";
import type { RunningTurn, TurnRequest } from "../../engine.ts";
import type { LiveTurn } from "./live-turn.ts";
import type { RunRecorder } from "./run-recorder.ts";
import type { TurnPlacement } from "../prepare/turn-placement.ts";
import type { AcceptedRequest } from "../prepare/accepted-request.ts";
import type { PlanResult, TurnPlan } from "../prepare/turn-plan.ts";
import type { ClosedCalls } from "../request/envelope.ts";

/** A request that was checked, with its position in the tree. */
export interface AcceptedTurn {
  /** The request as the caller sent it. Its idempotency key covers exactly this request. */
  request: TurnRequest;
  accepted: AcceptedRequest;
  place: TurnPlacement;
}

/** The turn has an id and is in the registry of live turns, so it can be controlled. */
export interface RegisteredTurn extends AcceptedTurn {
  live: LiveTurn;
  /** The answers to the calls that the parent waits for. */
  closed: ClosedCalls;
}

/** The requests to the model are planned. Nothing is written yet. */
export interface PreparedTurn extends RegisteredTurn {
  prepared: PlanResult;
}

/** The turn has its row. */
export interface OpenedTurn extends PreparedTurn {
  pending: PendingTurn;
  /** The SHA-256 of the opening blob. */
  openingHash: string;
  session: RunningTurn["session"];
  recorder: RunRecorder;
}

/** The end of the last model call. */
export type ModelAnswer =
  | { ended: "answered"; stopReason: StopReason; responseId: string | null; step: number }
  | { ended: "failed"; failure: Failure }
  | { ended: "interrupted" };

/** The end of the run. */
export interface RunOutcome {
  answer: ModelAnswer;
  /** The calls that wait for an answer of the caller. */
  deferredCalls: DeferredCall[];
  /** The plan that the run ended with. Null if the turn failed before there was one. */
  plan: TurnPlan | null;
}

/** The run is over, and its end will be written. */
export interface AnsweredTurn extends OpenedTurn, RunOutcome {}
