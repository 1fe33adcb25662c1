/** The tokens and the cost of a turn or a step, in words. What is not known is never shown as 0. */
import { groupedNumber, plural } from "../../../system/grouped-number.ts";
import type { WireTurn } from "../../../client/client.ts";
import { dollars } from "../output.ts";

export type ShownUsage = NonNullable<WireTurn["run"]>["usage"];

/** Returns the sum and the cost, as the line under a turn shows them. */
export function totalWords({ totalTokens, cachedTokens, costUsd, isPartial }: ShownUsage): string[] {
  if (totalTokens === null) return ["tokens unknown"];
  const least = isPartial === true ? "at least " : "";
  const cached = cachedTokens !== null && cachedTokens > 0 ? ` (${shown(cachedTokens)} cached)` : "";
  return [`${least}${plural(totalTokens, "token")}${cached}`, ...costWords(costUsd, least)];
}

/** Returns the tokens in either direction, and the cost. */
export function directionWords(usage: ShownUsage): string[] {
  const { inputTokens, cachedTokens, cacheWriteTokens = 0, outputTokens, costUsd, isPartial } = usage;
  if (inputTokens === null && outputTokens === null) return ["tokens unknown"];
  const least = isPartial === true ? "at least " : "";
  const cached = cachedTokens !== null && cachedTokens > 0 ? `, ${shown(cachedTokens)} cached` : "";
  const written = cacheWriteTokens > 0 ? `, ${shown(cacheWriteTokens)} written to the cache` : "";
  const tokens = `${least}${shown(inputTokens)} tokens in${cached}${written}, ${shown(outputTokens)} out`;
  return [tokens, ...costWords(costUsd, least)];
}

function shown(tokens: number | null): string {
  return tokens == null ? "?" : groupedNumber(tokens);
}

function costWords(costUsd: number | undefined, least: string): string[] {
  return costUsd === undefined || costUsd === 0 ? [] : [`${least}${dollars(costUsd)}`];
}
