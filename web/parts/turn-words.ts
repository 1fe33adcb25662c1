/** What a turn used and why it stopped, in words. What is not known is never shown as 0. */
import type { WireTurnSummary } from "../../src/client/client.ts";
import { money, short } from "./numbers.ts";

type Usage = NonNullable<WireTurnSummary["usage"]>;

/** Returns the tokens, and the price if it is known. Of an answer that was cut, the counts are the least that it used. */
export function usageWords({ totalTokens, costUsd, isPartial }: Usage): string[] {
  if (totalTokens === null) return ["tokens unknown"];
  const least = isPartial === true ? "at least " : "";
  return [`${least}${short(totalTokens)} tokens`, ...(costUsd === undefined ? [] : [`${least}${money(costUsd)}`])];
}

const stops: Partial<Record<NonNullable<WireTurnSummary["stopReason"]>, string>> = {
  interrupted: "interrupted",
  length: "cut at the length limit",
  step_limit: "reached the limit of steps",
  content_filter: "stopped by the provider's filter",
};

/** Returns why the turn has no whole answer, also where its status is `completed`. Null: it has one. */
export function stopWords(stopReason: WireTurnSummary["stopReason"]): string | null {
  return (stopReason !== null && stops[stopReason]) || null;
}
