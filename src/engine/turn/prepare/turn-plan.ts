/** Everything that a turn sends to the model, planned before anything is written or sent. */
import type { ContextManifest } from "../../../domain/context.ts";
import type { Failure, Warning } from "../../../domain/errors.ts";
import type { HistoryItem, ToolCallItem, ToolResultItem } from "../../../domain/history.ts";
import type { HistorySummary, SentContext, State } from "../../../domain/lineage.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import type { ModelCall, PreparedRequest } from "../../../providers/provider.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import type { ChainDecision } from "./chain.ts";
import type { PlacedInput } from "../kept/kept-parts.ts";
import type { TurnBeginning } from "../kept/turn-state.ts";
import type { RequestRecipe } from "../request/recipe.ts";

/** What a turn begins with. */
export interface PlannedItems {
  /** The items that this turn adds to the history before the model answers. */
  newItems: HistoryItem[];
  /** The calls that still wait when a turn without a model ends (T8). Empty for any other turn. */
  waiting: DeferredCall[];
}

export interface TurnPlan extends PlannedItems {
  turnId: string;
  accepted: AcceptedRequest;
  /** The state of the parent: everything before this turn. */
  state: State;
  /**
   * The state as the model receives it: without what was forgotten (M3), and with the summary that this turn made, if it made
   * one (C6).
   */
  visible: State;
  summary: HistorySummary | null;
  /**
   * True if the history must be summarised before the first call: it is too long, or the person wants it, or its summary
   * carries a fact that was forgotten.
   */
  isTooLong: boolean;
  /** The parts of the user message. Empty if there is none. */
  message: string[];
  /** The input with the blobs of its contents, and the contents that calls have read. */
  input: PlacedInput;
  /** The chunks and files of the message. Later turns do not send them again. */
  sent: SentContext;
  manifest: ContextManifest;
  /** The calls that were allowed since the last turn. They run first. */
  approved: ToolCallItem[];
  decision: HistoryDecision;
  /** The first request and its recipe. Null if it must wait for the results of `approved`. */
  first: { call: ModelCall; request: PreparedRequest; recipe: RequestRecipe } | null;
  /** The turn whose first request is the base of the recipes of this turn, and its body (K3). Null if there is none. */
  base: RequestBase | null;
}

/** A plan, or the reason why there is none. Then the turn fails before the model is called (Q5, C3, T10). */
export type PlanResult = { plan: TurnPlan; warnings: Warning[] } | { failure: Failure };

export interface RequestBase {
  turnId: string;
  body: string;
}

/** How the history is sent. Null if there is no history yet. */
export type HistoryDecision = ChainDecision | "replay" | null;

/** The parts of a plan that a call is built from. */
export type CallGround = Pick<TurnPlan, "turnId" | "accepted" | "visible" | "summary" | "newItems" | "input">;

/** Returns what the turn adds to the history before the model answers. */
export function plannedBeginning({ newItems, sent, input, summary }: TurnPlan): TurnBeginning {
  return { newItems, sent, readable: input.readable, summary };
}

/** Returns the plan with the results of the allowed calls, in front of the new message (T9). */
export function withResults(plan: TurnPlan, results: readonly ToolResultItem[]): TurnPlan {
  const after = plan.newItems.findIndex((item) => item.type !== "tool_result");
  const at = after === -1 ? plan.newItems.length : after;
  return { ...plan, newItems: plan.newItems.toSpliced(at, 0, ...results) };
}

/** Returns how many of the turn's own items its summary stands for: of `newItems`, then of what the turn produced. */
export function ownSummarised({ turnId, summary }: Pick<TurnPlan, "turnId" | "summary">): number {
  return summary?.throughTurnId === turnId ? (summary.throughItems ?? 0) : 0;
}
