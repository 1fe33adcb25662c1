/**
 * Compacts a history that nears the model's window. In the requests only, its oldest part is replaced by a summary that
 * the model writes (C6). This works before the first call of a turn and between the steps of a long one, and a single
 * turn that is larger than the window is summarised in part. The store keeps everything. The conversation is never cut
 * blindly (C4): if a part cannot be summarised, the turn fails.
 */
import assert from "node:assert/strict";
import type { UserItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import { historySummary, type HistorySummary, type State, type StateEntry } from "../../../domain/lineage.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { frameTokens, itemsTokens, requestTokens } from "../prepare/history-size.ts";
import { losesSummary } from "../prepare/facts/turn-memory.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";
import { bestCut, placedItems, type PlacedItem } from "./history-cut.ts";
import type { ModelRun } from "./model-run.ts";
import { Summariser } from "./summarise.ts";

export interface TooLong {
  /** The size of the request that is too long, in tokens. */
  tokens: number;
  /** The model's window. If it is unknown, it is only known that the request did not fit. */
  window: number | null;
  /** True if the provider has refused the request. */
  wasRefused: boolean;
}

/**
 * Returns the plan with a history that fits: its oldest part is summarised, the newest stays as it was. Returns null if
 * nothing of it can be summarised, or if that would not make it fit. Throws the reason why the turn fails.
 */
export async function compact(core: EngineCore, run: ModelRun, tooLong: TooLong): Promise<TurnPlan | null> {
  const { plan, recorder } = run;
  const items = placedItems(plan, recorder.items);
  const sizes = sizesOf(run, tooLong);
  const summariser = new Summariser(core, run, sizes.room);
  let done = 0;
  for (;;) {
    const at = cutOf(run, { ...sizes, items, room: summariser.room });
    // The room may turn out to be smaller while the summary is written. Then more has to be summarised.
    if (at === null || at <= done) break;
    await summariser.add(items.slice(done, at).map(({ item }) => item));
    done = at;
  }
  if (done === 0) return null;
  recorder.warn(compactionWarning(items.slice(0, done), plan));
  recorder.isRebuilt = plan.decision !== null;
  recorder.contextTokens = null;
  return withSummary(plan, summaryOf(run, { text: summariser.text, items, done }));
}

/** The sizes that a request may have, in tokens by our own estimate. */
interface Sizes {
  /** The size that it should have at most. */
  room: number;
  /** The size that is certainly too long. */
  tooLong: number;
}

/**
 * The provider's count may be higher than our estimate for the same texts, for example for a language that is not
 * written in Latin letters.
 */
function sizesOf({ plan, recorder }: ModelRun, { tokens, window, wasRefused }: TooLong): Sizes {
  // Nothing is too long here: everything is summarised because the person wants it.
  const isAsked = isAskedFor({ plan, recorder }) && !wasRefused;
  if (isAsked) return { room: (window ?? tokens) * limits.windowShareMax, tooLong: Number.POSITIVE_INFINITY };
  const estimated = requestTokens(plan, recorder.items);
  const density = Math.min(Math.max(1, tokens / estimated), limits.tokenDensityMax);
  // What was refused is too long, whatever the window is thought to be.
  const most = Math.min(window ?? tokens, wasRefused ? tokens : Number.POSITIVE_INFINITY);
  const guess = window === null ? most / 2 : most;
  return { room: (guess * limits.windowShareMax) / density, tooLong: most / density };
}

/**
 * Returns true before the first call of a turn whose whole history is to be summarised: the person wants it, or the summary
 * of it carries a fact that was forgotten (M3).
 */
function isAskedFor({ plan, recorder }: Pick<ModelRun, "plan" | "recorder">): boolean {
  return (plan.accepted.compacts || losesSummary(plan.state, plan.sent.forgets)) && recorder.items.length === 0;
}

interface CutSizes extends Sizes {
  items: readonly PlacedItem[];
}

/** Returns how many items are to be summarised. Null if there are none, or if the rest would not fit even then. */
function cutOf({ plan, recorder }: ModelRun, { items, room, tooLong }: CutSizes): number | null {
  const isFirstCall = recorder.items.length === 0;
  // The message of a turn is never summarised before the model has received it.
  const message = items.findLastIndex(({ item, turnId }) => turnId === plan.turnId && item.type === "user");
  const keepItems = isFirstCall && message !== -1 ? items.length - message : 0;
  const frame = frameTokens(plan);
  const most = Math.min(room * limits.compactionKeepShare, room * (1 - limits.summaryShare) - frame);
  const keepTokens = isAskedFor({ plan, recorder }) ? 0 : most;
  const at = bestCut(items, { keepTokens, keepItems });
  if (at === null) return null;
  const rest = itemsTokens(items.slice(at).map(({ item }) => item));
  return rest + frame >= tooLong ? null : at;
}

function compactionWarning(
  items: readonly PlacedItem[],
  { turnId }: TurnPlan,
): { code: "history_compacted"; message: string } {
  const turns = new Set(items.map((item) => item.turnId));
  const ofThis = turns.delete(turnId) ? ["the first steps of this turn"] : [];
  const replaced = [...(turns.size > 0 ? [`${turns.size} turns`] : []), ...ofThis].join(" and ");
  const message = `in the requests to the model, a summary replaces ${replaced}; the store keeps them`;
  return { code: "history_compacted", message };
}

interface Summarised {
  text: string;
  items: readonly PlacedItem[];
  /** How many of the items the text stands for. */
  done: number;
}

function summaryOf({ plan }: ModelRun, { text, items, done }: Summarised): HistorySummary {
  const last = items[done - 1];
  assert(last !== undefined, "a summary stands for at least one item");
  const instruction = instructionOf(plan, { text, items, done });
  return {
    throughTurnId: last.turnId,
    throughDepth: last.depth,
    ...(!last.endsTurn && { throughItems: last.number }),
    ...(instruction !== null && { instruction }),
    provider: plan.accepted.provider.name,
    model: plan.accepted.model,
    text,
  };
}

/**
 * Returns the instruction that the model is carrying out, if its message is among what the summary stands for: the
 * model must have it word for word. Null if it still sees a message, or if the instruction is long.
 */
function instructionOf(plan: TurnPlan, { items, done }: Summarised): string | null {
  if (items.slice(done).some(({ item }) => item.type === "user")) return null;
  const message = items.slice(0, done).findLast(({ item }) => item.type === "user")?.item as UserItem | undefined;
  const text = message === undefined ? (historySummary(plan.visible)?.instruction ?? null) : (message.parts[0] ?? null);
  return text === null || text.length > limits.instructionKeptCharactersMax ? null : text;
}

function withSummary(plan: TurnPlan, summary: HistorySummary): TurnPlan {
  const entry: StateEntry = { turnId: plan.turnId, depth: plan.state.depth, items: [], chunks: [], files: [], summary };
  // Of two summaries of this turn, the later one counts.
  const before = plan.visible.entries.filter(({ turnId }) => turnId !== plan.turnId);
  const visible: State = { ...plan.visible, entries: [...before, entry] };
  return { ...plan, summary, visible, decision: "replay" };
}
