/** All that a turn gives the model, as it was worked out before anything was written or sent. */
import type { ContextManifest } from "../../../domain/context.ts";
import type { Failure, Warning } from "../../../domain/errors.ts";
import type { HistoryItem, ToolCallItem } from "../../../domain/history.ts";
import type { HistorySummary, SentChunk, SentFile, State } from "../../../domain/lineage.ts";
import type { AwaitingTurn, CompletedTurn } from "../../../domain/turn.ts";
import type { ModelCall, PreparedRequest } from "../../../providers/provider.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import type { ChainDecision } from "./chain.ts";
import type { PlacedInput } from "../kept/kept-parts.ts";
import type { RequestRecipe } from "../request/recipe.ts";

export type Parent = CompletedTurn | AwaitingTurn;

export interface TurnPlan {
  turnId: string;
  accepted: AcceptedRequest;
  /** The parent's state: everything that came before this turn. */
  state: State;
  /** The same as the model gets it: with a summary that this turn made, if it made one (C6). */
  visible: State;
  summary: HistorySummary | null;
  /** The history must be summarised before the first call. */
  isTooLong: boolean;
  /** What this turn adds to the history before the model answers. */
  newItems: HistoryItem[];
  /** Parts of the user message; empty where there is none. */
  message: string[];
  /** What came with the instruction, with its places; and the contents that calls name, as they are read. */
  input: PlacedInput;
  /** The chunks and files that the message has: later turns do not send them again. */
  sent: { chunks: SentChunk[]; files: SentFile[] };
  manifest: ContextManifest;
  /** Calls that were allowed since the last turn: they run first. */
  approved: ToolCallItem[];
  decision: HistoryDecision;
  /** The first request and how it is kept; null where it must wait for the results of `approved`. */
  first: { call: ModelCall; request: PreparedRequest; recipe: RequestRecipe } | null;
  /** The turn whose first request the recipes of this turn build on, and its body (K3). Null: there is none. */
  base: RequestBase | null;
}

/** A plan, or why there can be none: then the turn fails before the model is called (Q5, C3, T10). */
export type Prepared = { plan: TurnPlan; warnings: Warning[] } | { failure: Failure };

export interface RequestBase {
  turnId: string;
  body: string;
}

/** Null: there is no history yet. */
export type HistoryDecision = ChainDecision | "replay" | null;

/** What a call is made from. */
export type CallGround = Pick<TurnPlan, "accepted" | "visible" | "newItems" | "input">;
