/**
 * Finds the place to cut a history in two: a part that a summary replaces, and the newest part, which stays as it was (C6).
 * Pure. A cut never separates a call from its result, nor reasoning from the call or the text that it led to.
 */
import type { HistoryItem } from "../../../domain/history.ts";
import { historySummary, shownItems, summarisedItems } from "../../../domain/lineage.ts";
import { itemsTokens } from "../prepare/history-size.ts";
import { ownSummarised, type TurnPlan } from "../prepare/turn-plan.ts";

/** An item of the history that no summary stands for yet, with its place. */
export interface PlacedItem {
  item: HistoryItem;
  turnId: string;
  depth: number;
  /** The number of the item in its turn, from 1. */
  number: number;
  /** True for the last item of a turn that has ended. */
  endsTurn: boolean;
}

/** Returns all items that no summary stands for, oldest first: of the history, then of this turn. */
export function placedItems(plan: TurnPlan, produced: readonly HistoryItem[]): PlacedItem[] {
  const summary = historySummary(plan.visible);
  const isShown = shownItems(plan.visible);
  const earlier = plan.visible.entries.flatMap((entry) => {
    const { turnId, depth, items } = entry;
    const all = items.map((item, at) => ({ item, turnId, depth, number: at + 1, endsTurn: at + 1 === items.length }));
    return all.slice(summarisedItems(entry, summary)).filter(({ number }) => isShown(turnId, number - 1));
  });
  const own = [...plan.newItems, ...produced].map((item, at) => ({
    item,
    turnId: plan.turnId,
    depth: plan.state.depth + 1,
    number: at + 1,
    endsTurn: false,
  }));
  return [...earlier, ...own.slice(ownSummarised(plan))];
}

export interface CutQuestion {
  /** The most tokens that may stay as they were. */
  keepTokens: number;
  /** The items at the end that must stay. */
  keepItems: number;
}

/**
 * Returns how many of the items the summary is to stand for: as few as let the rest fit, or, if nothing lets it fit, as
 * many as may be. Null if the history cannot be cut.
 */
export function bestCut(items: readonly PlacedItem[], { keepTokens, keepItems }: CutQuestion): number | null {
  const allowed = allowedCuts(items).filter((at) => at <= items.length - keepItems);
  const sizes = items.map(({ item }) => itemsTokens([item]));
  let rest = sizes.reduce((sum, size) => sum + size, 0);
  let counted = 0;
  for (const at of allowed) {
    for (; counted < at; counted += 1) rest -= sizes[counted] ?? 0;
    if (rest <= keepTokens) return at;
  }
  return allowed.at(-1) ?? null;
}

/** Returns every place where the items may be cut, from 1. */
function allowedCuts(items: readonly PlacedItem[]): number[] {
  const open = new Set<string>();
  return items.flatMap(({ item, endsTurn }, index) => {
    if (item.type === "tool_call") open.add(item.callId);
    if (item.type === "tool_result") open.delete(item.callId);
    const next = items[index + 1]?.item;
    const isBetweenSteps = endsTurn || item.type === "tool_result" || next === undefined || next.type === "user";
    return open.size === 0 && isBetweenSteps && next?.type !== "tool_result" ? [index + 1] : [];
  });
}
