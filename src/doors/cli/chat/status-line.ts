/** The line above the prompt of a chat: its session, its model, how full the context window is, and what it cost. */
import { groupedNumber } from "../../../system/grouped-number.ts";
import { modelInfo } from "../../../domain/models.ts";
import { dollars } from "../output.ts";
import type { ChatState } from "./chat-state.ts";

export function statusLine({ workspaceId, spent, options }: ChatState): string {
  const { costUsd } = spent;
  const model = spent.model ?? options.model;
  return [
    ...(workspaceId === null ? [] : [workspaceId.length > 8 ? workspaceId.slice(-8) : workspaceId]),
    ...(model === undefined ? [] : [model]),
    ...(spent.contextTokens === 0 ? [] : [tokensOfWindow(spent.contextTokens, model)]),
    ...(costUsd === 0 ? [] : [dollars(costUsd)]),
    ...(options.mode === undefined ? [] : [options.mode]),
  ].join(" · ");
}

/** Formats tokens as `12,345 tokens (6 %)`. Without a share if the size of the model's window is not known. */
export function tokensOfWindow(tokens: number, model: string | undefined): string {
  const text = `${groupedNumber(tokens)} tokens`;
  const window = model === undefined ? undefined : modelInfo(model)?.contextTokens;
  if (window === undefined) return text;
  const percent = (tokens / window) * 100;
  return `${text} (${percent < 1 ? "<1" : Math.round(percent)} % of ${groupedNumber(window)})`;
}
