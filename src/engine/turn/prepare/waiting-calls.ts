/**
 * The calls that a turn without a model leaves open (T8). It asks for nothing, so their results may come with a later turn. A
 * message after a call closes it, because no provider takes a message between a call and its result.
 */
import { openToolCalls, type HistoryItem } from "../../../domain/history.ts";
import type { State } from "../../../domain/lineage.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import type { Turn } from "../../../domain/turn.ts";
import type { ClosedCalls } from "../request/envelope.ts";
import type { AcceptedRequest } from "./accepted-request.ts";
import { earlierHistory } from "./earlier.ts";
import { keptResults, withResultMedia } from "./result-media.ts";
import type { PlannedItems } from "./turn-plan.ts";
import type { PlacedInput } from "../kept/kept-parts.ts";

interface BeginningTurn {
  accepted: AcceptedRequest;
  closed: ClosedCalls;
  place: { parent: Turn | null };
}

interface Gathered {
  state: State;
  input: PlacedInput;
  message: HistoryItem | null;
}

interface PlannedAndClosed extends PlannedItems {
  earlier: HistoryItem[];
  closed: ClosedCalls;
}

/** Returns the items that the turn adds before the model answers, and the calls that wait on. */
export function plannedItems(begun: BeginningTurn, { state, input, message }: Gathered): PlannedAndClosed {
  const { accepted } = begun;
  const answered = withResultMedia(begun.closed.results, keptResults(accepted, input.media));
  const turn = { ...begun, closed: { ...begun.closed, results: answered } };
  const own = message === null ? [] : [message];
  if (!accepted.withoutModel || accepted.compacts) {
    const earlier = earlierHistory(accepted, input.media);
    return { earlier, newItems: [...turn.closed.results, ...earlier, ...own], waiting: [], closed: turn.closed };
  }
  const earlier = earlierHistory({ ...accepted, keepsOpen: true }, input.media);
  const isFollowed = own.length > 0 || earlier.some(({ type }) => type !== "tool_call" && type !== "tool_result");
  const before = isFollowed ? [] : unansweredOf(turn);
  const ids = new Set(before.map(({ callId }) => callId));
  const closed: ClosedCalls = {
    ...turn.closed,
    results: turn.closed.results.filter(({ callId }) => !ids.has(callId)),
    unanswered: turn.closed.unanswered - before.length,
  };
  const ofClient = openToolCalls(earlier).map(({ callId, name, arguments: args }) => {
    return { callId, name, arguments: args, waitsFor: "client" as const };
  });
  const waiting = [...before.filter((call) => !isHidden(call, { state, accepted })), ...ofClient];
  return { earlier, newItems: [...closed.results, ...withMessage(earlier, own)], waiting, closed };
}

/** The context of the messages stands behind the last of them, before the calls that follow it. */
function withMessage(earlier: readonly HistoryItem[], own: readonly HistoryItem[]): HistoryItem[] {
  if (openToolCalls(earlier).length === 0) return [...earlier, ...own];
  return earlier.toSpliced(earlier.findLastIndex(({ type }) => type === "user") + 1, 0, ...own);
}

function unansweredOf({ accepted, place: { parent } }: BeginningTurn): DeferredCall[] {
  if (parent?.status !== "awaiting_tool_results") return [];
  const answered = new Set(accepted.toolResults.map(({ callId }) => callId));
  return parent.deferredCalls.filter(({ callId, budgetIds }) => budgetIds === undefined && !answered.has(callId));
}

/** A call that the turn hides needs no result. */
function isHidden({ callId }: DeferredCall, { state, accepted }: { state: State; accepted: AcceptedRequest }): boolean {
  return accepted.hides.some(({ turnId, at }) => {
    const item = state.entries.find((entry) => entry.turnId === turnId)?.items[at];
    return item?.type === "tool_call" && item.callId === callId;
  });
}
