/** What one turn adds to the history, and the state that results from it (K2). */
import type { HistoryItem, ToolCallItem, ToolResultItem } from "../../../domain/history.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { extendState, type HistorySummary, type SentContext, type State } from "../../../domain/lineage.ts";

/** What a turn adds to the history before the model answers. */
export interface TurnBeginning {
  newItems: HistoryItem[];
  sent: SentContext;
  /** The parts of the input that tools can read. */
  readable: PartRef[];
  summary: HistorySummary | null;
}

/** Returns the state of the turn: that of its parent, the beginning of the turn, and the items of its answer. */
export function stateAfter(
  parent: State,
  turn: { id: string; depth: number },
  { newItems, sent, readable, summary, items }: TurnBeginning & { items: readonly HistoryItem[] },
): State {
  return extendState(parent, {
    turnId: turn.id,
    depth: turn.depth,
    items: [...newItems, ...items],
    ...sent,
    ...(readable.length > 0 && { inputs: readable }),
    ...(summary !== null && { summary }),
  });
}

/** Returns a result for each call, which states why there is no other one (T8). */
export function closingResults(calls: readonly Pick<ToolCallItem, "callId">[], output: string): ToolResultItem[] {
  return calls.map(({ callId }) => ({ type: "tool_result", callId, output, isError: true }));
}

/** Returns true if the items have output of the model: text or a tool call (T10). */
export function hasOutput(items: readonly HistoryItem[]): boolean {
  return items.some((item) => item.type === "tool_call" || (item.type === "assistant" && item.text !== ""));
}
