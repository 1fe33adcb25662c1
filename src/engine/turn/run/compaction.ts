/**
 * Compacts a history that nears the model's window. In the requests only, its oldest part is replaced by a summary that
 * the model writes (C6). This works before the first call of a turn and between the steps of a long one, and a single
 * turn that is larger than the window is summarised in part. The store keeps everything. The conversation is never cut
 * blindly (C4): if a part cannot be summarised, the turn fails.
 */
import assert from "node:assert/strict";
import { AptoveError } from "../../../domain/errors.ts";
import type { UserItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import { historySummary, type HistorySummary, type State, type StateEntry } from "../../../domain/lineage.ts";
import { pinsTokens, type Pin } from "../../../domain/pin.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { frameTokens, itemsTokens, requestTokens } from "../prepare/history-size.ts";
import { losesSummary } from "../prepare/facts/turn-memory.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";
import { pinRefs, pinsOfHistory, repeatPins, summarisedPins } from "../prepare/summarised/pins.ts";
import { withTurnTool } from "../prepare/summarised/turn-tool.ts";
import { bestCut, placedItems, type PlacedItem } from "./history-cut.ts";
import type { ModelRun } from "./model-run.ts";
import { storedBeginning, type StoredBeginning } from "./stored-beginning.ts";
import { Summariser } from "./summarise.ts";
import { unnamedTurns } from "./turn-names.ts";

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
  const pins = await pinsNow(core, run);
  const sizes = { ...sizesOf(run, tooLong), pins: pinsTokens(pins) };
  // Without a window, nothing says how much is too much until the provider refuses it.
  if (tooLong.window !== null || tooLong.wasRefused) refuseLargePins(sizes);
  const summariser = new Summariser(core, run, sizes.room);
  const stored = await storedBeginning(core, run, items);
  let [done, beginning] = [0, null as StoredBeginning | null];
  for (;;) {
    const at = cutOf(run, { ...sizes, items, room: summariser.room });
    // The room may turn out to be smaller while the summary is written. Then more has to be summarised.
    if (at === null || at <= done) break;
    if (done === 0 && stored !== null && stored.done <= at) {
      [done, beginning] = [stored.done, stored];
      summariser.text = stored.text;
      continue;
    }
    await summariser.add(items.slice(done, at));
    done = at;
  }
  if (done === 0) return null;
  recorder.warn(compactionWarning(items.slice(0, done), plan, beginning));
  recorder.isRebuilt = plan.decision !== null;
  recorder.contextTokens = null;
  const summary = summaryOf(run, { text: summariser.text, items, done });
  return withTool(core, run, await withPins(core, withSummary(plan, summary), pins));
}

/** Returns the pins of this history, with those that were made while the turn runs. */
async function pinsNow({ deps }: EngineCore, { plan, place }: ModelRun): Promise<Pin[]> {
  const session = place.model === null ? null : await deps.records.sessions.get(place.model.id);
  return pinsOfHistory(session?.pins ?? plan.accepted.pins, plan.state);
}

/** Throws if the pinned passages leave too little room, for example since the model has a smaller window than before. */
function refuseLargePins({ room, pins }: Pick<CutSizes, "room" | "pins">): void {
  if (pins <= room * limits.pinsRoomShareMax) return;
  const most = Math.floor(room * limits.pinsRoomShareMax);
  throw new AptoveError(
    "pins_too_large",
    `the history must be summarised, and the pinned passages need about ${pins} tokens; this model leaves ${most} for them; remove some pins, or choose a model with a larger window`,
  );
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
  /** The tokens of the pinned passages. Any of them may have to be repeated beside the summary. */
  pins: number;
}

/** Returns how many items are to be summarised. Null if there are none, or if the rest would not fit even then. */
function cutOf({ plan, recorder }: ModelRun, { items, room, tooLong, pins }: CutSizes): number | null {
  const isFirstCall = recorder.items.length === 0;
  // The message of a turn is never summarised before the model has received it.
  const message = items.findLastIndex(({ item, turnId }) => turnId === plan.turnId && item.type === "user");
  const keepItems = isFirstCall && message !== -1 ? items.length - message : 0;
  const frame = frameTokens(plan) + pins;
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
  beginning: StoredBeginning | null,
): { code: "history_compacted"; message: string } {
  const turns = new Set(items.map((item) => item.turnId));
  const ofThis = turns.delete(turnId) ? ["the first steps of this turn"] : [];
  const replaced = [...(turns.size > 0 ? [`${turns.size} turns`] : []), ...ofThis].join(" and ");
  const begins = beginning === null ? "" : `, which begins with the session's summary ${beginning.id},`;
  const message = `in the requests to the model, a summary${begins} replaces ${replaced}; the store keeps them`;
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
  const unnamed = unnamedTurns(text, last.depth);
  return {
    throughTurnId: last.turnId,
    throughDepth: last.depth,
    ...(!last.endsTurn && { throughItems: last.number }),
    ...(instruction !== null && { instruction }),
    provider: plan.accepted.provider.name,
    model: plan.accepted.model,
    text,
    ...(unnamed !== null && { unnamed }),
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

/** Returns the plan with the pinned passages of the turns that its summary stands for, word for word (M6). */
async function withPins({ deps }: EngineCore, plan: TurnPlan, pins: readonly Pin[]): Promise<TurnPlan> {
  const { summary, visible, sent } = plan;
  if (summary === null || pins.length === 0) return plan;
  // The message of this turn may have repeated some already, and the model still has it.
  const ofMessage = summary.throughTurnId === plan.turnId ? [] : (sent.pins ?? []);
  const hidden = summarisedPins(pins, visible).filter(({ id }) => !ofMessage.includes(id));
  const { ids, block } = await repeatPins(deps, hidden);
  const pinned = block === null ? {} : { pinned: { ids, block } };
  const refs = pinRefs(pins, visible, [...ids, ...ofMessage]);
  return { ...withSummary(plan, { ...summary, ...pinned }), manifest: { ...plan.manifest, pins: refs } };
}

/** Returns the plan with the tool that opens the summarised turns again. This turn and all later ones offer it (M6, E6). */
function withTool({ histories }: EngineCore, { place }: ModelRun, plan: TurnPlan): TurnPlan {
  const accepted = withTurnTool(histories, plan.accepted, place.parent?.id ?? null);
  return { ...plan, accepted, manifest: { ...plan.manifest, toolsHash: accepted.toolsHash } };
}
