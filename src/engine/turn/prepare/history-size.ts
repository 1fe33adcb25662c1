/** Estimates how many tokens a history takes, and whether it nears the window of the model (C6). */
import type { HistoryItem } from "../../../domain/history.ts";
import type { PartRef } from "../../../domain/input-part.ts";
import { limits } from "../../../domain/limits.ts";
import { type State, type StateEntry, historySummary } from "../../../domain/lineage.ts";
import { modelFamily } from "../../../domain/models.ts";
import { countedContext } from "../../../domain/usage.ts";
import { unsentItems } from "./build-call.ts";
import { estimateTokens } from "./choose-chunks.ts";
import type { CallGround, ParentTurn } from "./turn-plan.ts";

/** Returns true if the first call would come too near to the model's window. */
export function nearsWindow(ground: CallGround, parent: ParentTurn | null, window: number | null): boolean {
  if (window === null || ground.visible.entries.length === 0) return false;
  return firstCallTokens(ground, parent) > window * limits.windowShareMax;
}

/**
 * Returns the size of the first call. What the provider counted for the last call of the parent includes the prompt,
 * the tools and the answer. Our own estimate may be lower.
 */
function firstCallTokens(ground: CallGround, parent: ParentTurn | null): number {
  const estimated = historyTokens(ground.visible) + frameTokens(ground);
  const { provider, model } = ground.accepted;
  const countsAlike = parent?.provider === provider.name && modelFamily(parent.model) === modelFamily(model);
  const counted = countsAlike ? countedContext(parent.run) : null;
  if (counted === null) return estimated;
  return Math.max(estimated, counted + itemsTokens([...unsentItems(ground.visible), ...ground.newItems]));
}

/** Returns the tokens that every request needs beside the history. */
export function frameTokens({ accepted, newItems }: CallGround): number {
  const { tools } = accepted.toolUse;
  return (
    estimateTokens(accepted.prompt) +
    estimateTokens(tools.length === 0 ? "" : JSON.stringify(tools)) +
    itemsTokens(newItems)
  );
}

export function historyTokens(state: State): number {
  const summary = historySummary(state);
  const visible = state.entries.filter((entry) => entry.depth > (summary?.throughDepth ?? 0));
  return visible.reduce((sum, entry) => sum + entryTokens(entry), estimateTokens(summary?.text ?? ""));
}

/** The tokens of entries. Entries never change, and every later turn needs their sizes again. */
const tokensOfEntries = new WeakMap<StateEntry, number>();

export function entryTokens(entry: StateEntry): number {
  const known = tokensOfEntries.get(entry) ?? itemsTokens(entry.items);
  tokensOfEntries.set(entry, known);
  return known;
}

export function itemsTokens(items: readonly HistoryItem[]): number {
  const media = items.reduce((sum, item) => sum + (item.type === "user" ? (item.media?.length ?? 0) : 0), 0);
  return items.reduce((sum, item) => sum + estimateTokens(itemText(item)), media * limits.mediaTokensGuess);
}

export function itemText(item: HistoryItem): string {
  switch (item.type) {
    case "user":
      return `User:\n${[...item.parts, ...(item.media ?? []).map(mediaText)].join("\n\n")}`;
    case "assistant":
      return `Assistant:\n${item.text}`;
    case "reasoning":
      return "";
    case "tool_call":
      return `Assistant calls ${item.name}(${item.arguments})`;
    case "tool_result":
      return `Result${item.isError === true ? " (error)" : ""}:\n${item.output}`;
  }
}

function mediaText({ name, mediaType }: PartRef): string {
  return `[${name} (${mediaType})]`;
}
