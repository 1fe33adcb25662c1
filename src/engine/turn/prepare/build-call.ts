/**
 * Builds one call of the provider, and decides how it gets the history: by continuing the provider's memory, or by
 * sending the whole history (C1–C3, E5).
 */
import type { ContinuableTurn } from "../../../domain/turn.ts";
import type { ModelSettings } from "../../../domain/context.ts";
import type { Warning } from "../../../domain/errors.ts";
import type { HistoryItem } from "../../../domain/history.ts";
import { visibleItems, visibleMedia, type State } from "../../../domain/lineage.ts";
import { modelFamily } from "../../../domain/models.ts";
import type { ModelCall, PreparedRequest } from "../../../providers/provider.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import { decideChain } from "./chain.ts";
import { ownSummarised, type CallGround, type HistoryDecision } from "./turn-plan.ts";

export function decideHistory(
  accepted: AcceptedRequest,
  parent: ContinuableTurn | null,
  { forgets, now }: { forgets: boolean; now: number },
): HistoryDecision {
  if (parent === null) return null;
  if (accepted.history === "replay") return "replay";
  const { provider, model, promptHash, toolsHash } = accepted;
  return decideChain({ parent, provider, model, promptHash, toolsHash, forgets, now });
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
  const { tools, choice, allowed, mustCall } = accepted.toolUse;
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
    items: items.map((item) => withRankTaken(withMediaTaken(item, taken), accepted.provider)),
    media: input.loaded,
    previousResponseId: chained ? decision.use : null,
    store: accepted.history === "chain",
    tools: resend || !chained ? tools : [],
    toolChoice,
    ...(isFirst && mustCall && { mustCall }),
    allowedTools: allowed,
    settings: modelSettings(accepted.settings),
  };
}

/** Returns the settings that the model receives. How many calls a turn may have is the engine's own matter. */
function modelSettings({ maxSteps: _s, maxToolCalls: _t, compaction: _c, ...settings }: ModelSettings): ModelSettings {
  return settings;
}

/** Returns a warning about the settings that the model cannot take (G3). */
export function adjustedWarnings({ adjusted = [] }: PreparedRequest): Warning[] {
  return adjusted.length === 0 ? [] : [{ code: "setting_adjusted", message: adjusted.join("; ") }];
}

/** Returns the item with a text in place of each media part that this model cannot see (C5). */
function withMediaTaken(given: HistoryItem, taken: readonly string[]): HistoryItem {
  if (given.type !== "user" && given.type !== "tool_result") return given;
  const { media = [], ...item } = given;
  const seen = media.filter(({ mediaType }) => taken.includes(mediaType));
  const notes = media
    .filter(({ mediaType }) => !taken.includes(mediaType))
    .map(({ name, mediaType }) => `[${name} (${mediaType}) was sent here; this model cannot see it]`);
  const kept = seen.length > 0 ? { media: seen } : {};
  if (item.type === "user") return { ...item, parts: [...item.parts, ...notes], ...kept };
  return { ...item, output: [item.output, ...notes].filter((text) => text !== "").join("\n\n"), ...kept };
}

/** Returns the item with a label in place of a rank that this provider cannot express (C5). */
function withRankTaken(item: HistoryItem, { ranks }: AcceptedRequest["provider"]): HistoryItem {
  if (item.type !== "user" || item.rank === undefined || ranks === true) return item;
  const { rank: _rank, ...message } = item;
  return { ...message, parts: message.parts.map((text) => `[SYSTEM]\n${text}`) };
}

/** Returns true if another model than this one answered the last turn. Models of one family read each other's memory. */
function switchesModel({ provider, model }: AcceptedRequest, parent: ContinuableTurn | null): boolean {
  return parent === null || parent.provider !== provider.name || modelFamily(parent.model) !== modelFamily(model);
}

/** A turn with the history that it sends. */
export interface SentHistory {
  accepted: AcceptedRequest;
  visible: State;
  parent: ContinuableTurn | null;
  decision: HistoryDecision;
}

/** Returns a warning about the media of the history that this model cannot see. It comes once after each switch (C5). */
export function mediaWarnings({ accepted, visible, parent, decision }: SentHistory): Warning[] {
  if (usesChain(decision) || (decision === "replay" && !switchesModel(accepted, parent))) return [];
  const taken = accepted.provider.takes?.(accepted.model) ?? [];
  const dropped = visibleMedia(visible).filter(({ mediaType }) => !taken.includes(mediaType));
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

/** Returns why the provider cannot continue where it was: its memory is not used, or the beginning has changed (C3, E6). */
export function chainWarnings({ decision, accepted, parent }: SentHistory): Warning[] {
  if (decision === null || usesChain(decision)) return [];
  if (decision === "replay") return switchesModel(accepted, parent) ? [] : prefixWarnings(accepted, parent);
  const rebuilt = rebuiltWarning(accepted, decision.rebuild);
  switch (decision.because) {
    case "prompt":
      return [promptChanged, rebuilt];
    case "tools":
      return [toolsChanged, rebuilt];
    case "memory":
      return [rebuilt];
  }
}

const promptChanged: Warning = {
  code: "prompt_changed",
  message: "the boot prompt differs from that of the last turn",
};
const toolsChanged: Warning = {
  code: "tools_changed",
  message: "the list of tools differs from that of the last turn",
};

/** Returns a warning if the beginning of a replay has changed: the provider's cache and its model's reasoning end there. */
function prefixWarnings({ promptHash, toolsHash }: AcceptedRequest, parent: ContinuableTurn | null): Warning[] {
  if (parent === null) return [];
  return [
    ...(parent.manifest.promptHash === promptHash ? [] : [promptChanged]),
    ...(parent.manifest.toolsHash === toolsHash ? [] : [toolsChanged]),
  ];
}

export function rebuiltWarning(accepted: AcceptedRequest, why: string): Warning {
  return { code: "chain_rebuilt", message: `the whole history was sent again to ${accepted.provider.name}: ${why}` };
}

/**
 * Returns a warning about the reasoning that a request leaves out. In a replay the same reasoning is left out of every
 * request, so the warning comes once: after a switch, and after an answer that was cut while the model thought (C5).
 */
export function droppedWarnings(
  request: PreparedRequest,
  { accepted, parent }: Pick<SentHistory, "accepted" | "parent">,
): Warning[] {
  const hasAnswer = parent !== null && "stopReason" in parent && parent.stopReason !== "interrupted";
  if (accepted.history === "replay" && hasAnswer && !switchesModel(accepted, parent)) return [];
  return request.dropped.map(({ kind, count }) => ({
    code: "reasoning_dropped",
    message: `${count} ${kind} items were left out: another provider or model wrote them, or nothing follows them`,
  }));
}
