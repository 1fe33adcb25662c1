/** Estimates how many tokens a history takes, and whether it nears the window of the model (C6). */
import type { ContinuableTurn } from "../../../domain/turn.ts";
import { mediaOf, type HistoryItem } from "../../../domain/history.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import {
  historySummary,
  summarisedItems,
  summaryItem,
  type HistorySummary,
  type State,
  type StateEntry,
} from "../../../domain/lineage.ts";
import { modelFamily } from "../../../domain/models.ts";
import { countedContext } from "../../../domain/usage.ts";
import { afterLastOutput, unsentItems } from "./build-call.ts";
import { estimateTokens } from "./gathered/choose-chunks.ts";
import { ownSummarised, type CallGround } from "./turn-plan.ts";

/** Returns true if the first call would come too near to the model's window. */
export function nearsWindow(ground: CallGround, parent: ContinuableTurn | null, window: number | null): boolean {
  if (window === null || ground.visible.entries.length === 0) return false;
  return firstCallTokens(ground, parent) > window * limits.windowShareMax;
}

/**
 * Returns the size of the first call. What the provider counted for the last call of the parent includes the prompt,
 * the tools and the answer. Our own estimate may be lower.
 */
export function firstCallTokens(ground: CallGround, parent: ContinuableTurn | null): number {
  const estimated = requestTokens(ground, []);
  const { provider, model } = ground.accepted;
  const countsAlike = parent?.provider === provider.name && modelFamily(parent.model) === modelFamily(model);
  const counted = countsAlike ? countedContext(parent.run) : null;
  if (counted === null) return estimated;
  return Math.max(estimated, counted + itemsTokens([...unsentItems(ground.visible), ...ground.newItems]));
}

/** What a turn has produced so far, and the size of its last call. */
interface Produced {
  items: readonly HistoryItem[];
  contextTokens: number | null;
}

/** Returns the size of a later call of the turn. `news` is what the model has not received yet. */
export function laterCallTokens(
  ground: CallGround,
  { items, contextTokens }: Produced,
  news: readonly HistoryItem[] = afterLastOutput(items),
): number {
  const estimated = requestTokens(ground, items);
  return contextTokens === null ? estimated : Math.max(estimated, contextTokens + itemsTokens(news));
}

/** Returns our own estimate of the size of a whole request, with what the turn has produced so far. */
export function requestTokens(ground: CallGround, produced: readonly HistoryItem[]): number {
  const own = [...ground.newItems, ...produced].slice(ownSummarised(ground));
  return frameTokens(ground) + historyTokens(ground.visible) + itemsTokens(own);
}

/** Returns the tokens that every request needs for the boot prompt and the tools. */
export function frameTokens({ accepted }: Pick<CallGround, "accepted">): number {
  const { tools } = accepted.toolUse;
  return estimateTokens(accepted.prompt) + estimateTokens(tools.length === 0 ? "" : JSON.stringify(tools));
}

/** Returns the tokens of the history as the model receives it. */
export function historyTokens(state: State): number {
  const summary = historySummary(state);
  const ofSummary = summary === null ? 0 : itemsTokens([summaryItem(summary)]);
  return state.entries.reduce((sum, entry) => sum + visibleTokens(entry, summary), ofSummary);
}

function visibleTokens(entry: StateEntry, summary: HistorySummary | null): number {
  const hidden = summarisedItems(entry, summary);
  if (hidden === 0) return entryTokens(entry);
  return hidden === entry.items.length ? 0 : itemsTokens(entry.items.slice(hidden));
}

/** The tokens of entries. Entries never change, and every later turn needs their sizes again. */
const tokensOfEntries = new WeakMap<StateEntry, number>();

function entryTokens(entry: StateEntry): number {
  const known = tokensOfEntries.get(entry) ?? itemsTokens(entry.items);
  tokensOfEntries.set(entry, known);
  return known;
}

export function itemsTokens(items: readonly HistoryItem[]): number {
  const media = items.reduce((sum, item) => sum + mediaOf(item).length, 0);
  return items.reduce((sum, item) => sum + estimateTokens(itemText(item)), media * limits.mediaTokensGuess);
}

export function itemText(item: HistoryItem): string {
  switch (item.type) {
    case "user":
      return `User:\n${[...item.parts, ...mediaOf(item).map(mediaText)].join("\n\n")}`;
    case "assistant":
      return `Assistant:\n${item.text}`;
    case "reasoning":
      return "";
    case "tool_call":
      return `Assistant calls ${item.name}(${item.arguments})`;
    case "tool_result":
      return `Result${item.isError === true ? " (error)" : ""}:\n${[item.output, ...mediaOf(item).map(mediaText)].join("\n\n")}`;
  }
}

function mediaText({ name, mediaType }: PartRef): string {
  return `[${name} (${mediaType})]`;
}
