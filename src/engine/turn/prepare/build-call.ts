/**
 * Builds one call of the provider, and decides how it gets the history: by continuing the provider's memory, or by
 * sending the whole history (C1–C3, E5).
 */
import type { Warning } from "../../../domain/errors.ts";
import type { HistoryItem, UserItem } from "../../../domain/history.ts";
import { visibleItems, type State } from "../../../domain/lineage.ts";
import type { ModelCall, PreparedRequest } from "../../../providers/provider.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import { decideChain } from "./chain.ts";
import { ownSummarised, type CallGround, type HistoryDecision, type ParentTurn } from "./turn-plan.ts";

export function decideHistory(accepted: AcceptedRequest, parent: ParentTurn | null, now: number): HistoryDecision {
  if (parent === null) return null;
  if (accepted.history === "replay") return "replay";
  const { provider, model, promptHash, toolsHash } = accepted;
  return decideChain({ parent, provider, model, promptHash, toolsHash, now });
}

export function usesChain(decision: HistoryDecision): decision is { use: string } {
  return decision !== null && decision !== "replay" && "use" in decision;
}

/** Returns the turn's first call. */
export function firstCall(ground: CallGround, decision: HistoryDecision): ModelCall {
  return callOf(ground, { decision, produced: [], isFirst: true });
}

/**
 * Returns a later call of the turn. `items` is what the provider does not know yet if its memory is continued, else
 * everything that the turn has produced so far.
 */
export function laterCall(
  ground: CallGround,
  decision: { use: string } | "replay",
  items: readonly HistoryItem[],
): ModelCall {
  return callOf(ground, { decision, produced: items, isFirst: false });
}

interface CallOptions {
  decision: HistoryDecision;
  produced: readonly HistoryItem[];
  isFirst: boolean;
}

function callOf(ground: CallGround, { decision, produced, isFirst }: CallOptions): ModelCall {
  const { accepted, visible, newItems, input } = ground;
  const chained = usesChain(decision);
  const { tools, choice, allowed } = accepted.toolUse;
  // If the tool were forced again after its result, the model would call it without end.
  const toolChoice = isFirst ? choice : null;
  const resend = accepted.conversationContext.toolResend === "always" || toolChoice !== null || allowed !== null;
  const unseen = isFirst ? [...unsentItems(visible), ...newItems] : produced;
  const items = chained
    ? unseen
    : [...visibleItems(visible), ...[...newItems, ...produced].slice(ownSummarised(ground))];
  const taken = accepted.provider.takes?.(accepted.model) ?? [];
  return {
    model: accepted.model,
    prompt: chained || accepted.prompt === "" ? null : accepted.prompt,
    items: items.map((item) => (item.type === "user" ? withMediaTaken(item, taken) : item)),
    media: input.loaded,
    previousResponseId: chained ? decision.use : null,
    store: accepted.history === "chain",
    tools: resend || !chained ? tools : [],
    toolChoice,
    allowedTools: allowed,
    settings: accepted.settings,
  };
}

/** Returns the item with a text in place of each media part that this model cannot see (C5). */
function withMediaTaken({ media = [], ...item }: UserItem, taken: readonly string[]): UserItem {
  const seen = media.filter(({ mediaType }) => taken.includes(mediaType));
  const notes = media
    .filter(({ mediaType }) => !taken.includes(mediaType))
    .map(({ name, mediaType }) => `[${name} (${mediaType}) was sent here; this model cannot see it]`);
  return { ...item, parts: [...item.parts, ...notes], ...(seen.length > 0 && { media: seen }) };
}

/** Returns a warning about the media of the history that this model cannot see. */
export function mediaWarnings({ accepted, visible }: Pick<CallGround, "accepted" | "visible">): Warning[] {
  const taken = accepted.provider.takes?.(accepted.model) ?? [];
  const media = visibleItems(visible).flatMap((item) => (item.type === "user" ? (item.media ?? []) : []));
  const dropped = media.filter(({ mediaType }) => !taken.includes(mediaType));
  if (dropped.length === 0) return [];
  const names = dropped.map(({ name, mediaType }) => `${name} (${mediaType})`).join(", ");
  return [{ code: "media_dropped", message: `left out, because ${accepted.model} cannot see it: ${names}` }];
}

/**
 * Returns the items that follow the model's last output in the parent, so that the provider's memory lacks them: the
 * results of calls that ran here while the other calls of the same answer waited for the caller.
 */
export function unsentItems(state: State): HistoryItem[] {
  return afterLastOutput(state.entries.at(-1)?.items ?? []);
}

/** Returns the items that follow the last output of the model. */
export function afterLastOutput(items: readonly HistoryItem[]): HistoryItem[] {
  const last = items.findLastIndex((item) => item.type !== "tool_result" && item.type !== "user");
  return last === -1 ? [] : items.slice(last + 1);
}

export function chainWarnings(decision: HistoryDecision, accepted: AcceptedRequest): Warning[] {
  if (decision === null || decision === "replay" || "use" in decision) return [];
  const rebuilt = rebuiltWarning(accepted, decision.rebuild);
  switch (decision.because) {
    case "prompt":
      return [{ code: "prompt_changed", message: "the boot prompt differs from that of the last turn" }, rebuilt];
    case "tools":
      return [{ code: "tools_changed", message: "the list of tools differs from that of the last turn" }, rebuilt];
    case "memory":
      return [rebuilt];
  }
}

export function rebuiltWarning(accepted: AcceptedRequest, why: string): Warning {
  return { code: "chain_rebuilt", message: `the whole history was sent again to ${accepted.provider.name}: ${why}` };
}

export function droppedWarnings(request: PreparedRequest): Warning[] {
  return request.dropped.map(({ kind, count }) => ({
    code: "reasoning_dropped",
    message: `${count} ${kind} items were left out: another provider or model wrote them, or nothing follows them`,
  }));
}
