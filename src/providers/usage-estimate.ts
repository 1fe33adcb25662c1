/** Estimates token counts for providers that report none. */
import type { HistoryItem } from "../domain/history.ts";
import type { Usage } from "../domain/usage.ts";

/** Returns the tokens of a call and its answer, at four characters for each token. */
export function estimateUsage(body: string, output: readonly HistoryItem[]): Usage {
  const tokens = (text: string): number => Math.ceil(text.length / 4);
  const reasoning = output.reduce((sum, item) => sum + (item.type === "reasoning" ? tokens(item.text) : 0), 0);
  const generated = output.reduce((sum, item) => {
    if (item.type === "assistant") return sum + tokens(item.text);
    return item.type === "tool_call" ? sum + tokens(item.name) + tokens(item.arguments) : sum;
  }, reasoning);
  const input = tokens(body);
  return { input, output: generated, cached: 0, reasoning, total: input + generated };
}
