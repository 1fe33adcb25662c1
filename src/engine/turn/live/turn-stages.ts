/**
 * A turn on its way through the engine. It is one value that grows from stage to stage; each function takes the stage that
 * it needs. `run-turn.ts` is the sequence.
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
import type { Prepared, TurnPlan } from "../prepare/turn-plan.ts";
import type { ClosedCalls } from "../request/envelope.ts";

/** A request that is fit to run, at its place in the tree. */
export interface AcceptedTurn {
  /** The request as the caller sent it: its idempotency key is for exactly this. */
  request: TurnRequest;
  accepted: AcceptedRequest;
  place: TurnPlacement;
}

/** It has an id and is in the registry of live turns: controls reach it. */
export interface RegisteredTurn extends AcceptedTurn {
  live: LiveTurn;
  /** The calls that its parent waits for, answered. */
  closed: ClosedCalls;
}

/** What the model gets is worked out. Nothing is written yet. */
export interface PreparedTurn extends AcceptedTurn {
  live: LiveTurn;
  prepared: Prepared;
}

/** It has its row. */
export interface OpenedTurn extends PreparedTurn {
  pending: PendingTurn;
  /** SHA-256 of the opening blob. */
  openingHash: string;
  session: RunningTurn["session"];
  recorder: RunRecorder;
}

/** How the model's last call ended. */
export type ModelAnswer =
  | { ended: "answered"; stopReason: StopReason; responseId: string | null; step: number }
  | { ended: "failed"; failure: Failure }
  | { ended: "interrupted" };

/** How the run ended. */
export interface RunOutcome {
  answer: ModelAnswer;
  /** Calls that wait for an answer from outside. */
  deferredCalls: DeferredCall[];
  /** The plan that the run ended with; null if the turn failed before there was one. */
  plan: TurnPlan | null;
}

/** The run is over, and its end is to be written. */
export interface AnsweredTurn extends OpenedTurn, RunOutcome {}
