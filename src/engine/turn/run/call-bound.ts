/**
 * The most that a call of a model can use (F11). A token has at least one byte, so a text never has more tokens than
 * bytes. Where the provider has counted what the request repeats, only what is new is counted in bytes.
 */
import type { ContinuableTurn } from "../../../domain/turn.ts";
import { callBounds, nanoUsd, type CallAmount } from "../../../domain/budget.ts";
import { mediaOf, type HistoryItem } from "../../../domain/history.ts";
import { isMedia } from "../../../domain/input-part.ts";
import { costBoundOf, modelFamily, modelInfo } from "../../../domain/models.ts";
import { countedContext } from "../../../domain/usage.ts";
import type { PreparedRequest, Provider } from "../../../providers/provider.ts";
import { afterLastOutput, unsentItems } from "../prepare/build-call.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";

/** What is known before a call. */
export interface BoundedCall {
  plan: TurnPlan;
  parent: ContinuableTurn | null;
  request: Pick<PreparedRequest, "model" | "body" | "outputTokensMax">;
  /** The items of the call, and whether the provider adds what it remembers to them. */
  items: readonly HistoryItem[];
  continues: boolean;
  /** True if the call sends the turn's own history. A call for a summary does not. */
  isOfTurn: boolean;
  /** What the turn has done so far. */
  produced: { items: readonly HistoryItem[]; contextTokens: number | null };
  /** The window of the model. Null: it is not known. */
  window: number | null;
}

export function callBound(call: BoundedCall): CallAmount & { input: number; output: number } {
  const { plan, request, window } = call;
  return boundOf({ provider: plan.accepted.provider, request, window }, inputBound(call));
}

/** Returns the bound of a call that sends only texts, and of which no provider has counted anything. */
export function textCallBound(call: SentCall): CallAmount {
  return boundOf(call, Buffer.byteLength(call.request.body) + callBounds.requestTokensMargin);
}

/** What is known of a call beside its input. */
export interface SentCall extends Pick<BoundedCall, "request" | "window"> {
  provider: Pick<Provider, "isFree">;
}

function boundOf(
  { provider, request, window }: SentCall,
  input: number,
): CallAmount & { input: number; output: number } {
  const info = modelInfo(request.model);
  const output =
    request.outputTokensMax ?? info?.outputTokensMax ?? window ?? info?.contextTokens ?? callBounds.outputTokensGuess;
  return { input, output, tokens: input + output, usd: usdBound(provider, request.model, { input, output }) };
}

function usdBound(
  provider: SentCall["provider"],
  model: string,
  tokens: { input: number; output: number },
): number | null {
  if (provider.isFree === true) return 0;
  const usd = costBoundOf(model, tokens);
  return usd === undefined ? null : nanoUsd(usd);
}

function inputBound(call: BoundedCall): number {
  const { items, continues, request } = call;
  const bytes = Buffer.byteLength(request.body) + mediaTokens(items, call.window);
  const counted = countedBound(call);
  if (!continues) return Math.min(bytes, counted ?? bytes) + callBounds.requestTokensMargin;
  // The provider adds what it remembers, which is all that came before.
  return (counted ?? bytes + rememberedBytes(call)) + callBounds.requestTokensMargin;
}

/** Returns the bound by what the provider counted for the call before. Null if it does not count, or did not have the same beginning. */
function countedBound({ plan, parent, produced, window, isOfTurn }: BoundedCall): number | null {
  if (!isOfTurn) return null;
  const isFirst = produced.items.length === 0 && produced.contextTokens === null;
  const counted = isFirst ? countedByParent(plan, parent) : produced.contextTokens;
  if (counted === null) return null;
  const news = isFirst ? [...unsentItems(plan.visible), ...plan.newItems] : afterLastOutput(produced.items);
  return counted + itemsBound(news, window);
}

/** A summary of this turn stands for a part of what the parent's call had. */
function countedByParent({ accepted, manifest, summary }: TurnPlan, parent: ContinuableTurn | null): number | null {
  if (parent === null || summary !== null) return null;
  const { provider, model } = accepted;
  const isSameModel = parent.provider === provider.name && modelFamily(parent.model) === modelFamily(model);
  const { promptHash, toolsHash } = parent.manifest;
  const isSameFrame = promptHash === manifest.promptHash && toolsHash === manifest.toolsHash;
  return isSameModel && isSameFrame ? countedContext(parent.run) : null;
}

function rememberedBytes({ plan, produced, window }: BoundedCall): number {
  const before = plan.visible.entries.flatMap(({ items }) => items);
  const frame =
    Buffer.byteLength(plan.accepted.prompt) + Buffer.byteLength(JSON.stringify(plan.accepted.toolUse.tools));
  return frame + itemsBound([...before, ...plan.newItems, ...produced.items], window);
}

function itemsBound(items: readonly HistoryItem[], window: number | null): number {
  return Buffer.byteLength(JSON.stringify(items)) + mediaTokens(items, window);
}

/** Returns the tokens of what the bytes say nothing about: a small file can be a large picture, or many pages. */
function mediaTokens(items: readonly HistoryItem[], window: number | null): number {
  const media = items.flatMap(mediaOf);
  const pictures = media.filter(({ mediaType }) => mediaType.startsWith("image/")).length;
  const others = media.filter(({ mediaType }) => isMedia(mediaType)).length - pictures;
  return pictures * callBounds.imageTokensMax + (others > 0 ? (window ?? callBounds.documentTokensMax) : 0);
}
