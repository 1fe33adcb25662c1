/** What a turn that has ended leaves to the history of its session (S5, T8, T12). */
import { failureOf } from "../../../domain/errors.ts";
import type { State } from "../../../domain/lineage.ts";
import { callNotRun, historyNotKept, type Ending } from "./decide-end.ts";
import type { Histories } from "../kept/histories.ts";
import { closingResults, stateAfter, type TurnBeginning } from "../kept/turn-state.ts";
import type { AnsweredTurn } from "../live/turn-stages.ts";
import { earlierHistory } from "../prepare/earlier.ts";
import { plannedBeginning, withResults, type TurnPlan } from "../prepare/turn-plan.ts";
import { userMessage } from "../request/envelope.ts";

/**
 * Returns the state of the turn. Null if the turn failed and did nothing. A turn that failed before it was planned brings
 * only its instruction and the results of the caller. If their history cannot be read, the turn is never a parent, and
 * says so (S5, T12).
 */
export async function stateAtEnd(histories: Histories, turn: AnsweredTurn, { items }: Ending): Promise<State | null> {
  const { pending, plan, place, recorder } = turn;
  if (items === null) return null;
  if (plan !== null) return stateAfter(plan.state, pending, { ...wholeBeginning(plan), items });
  try {
    const parent = await histories.state(place.parent?.id ?? null);
    return stateAfter(parent, pending, { ...unplannedBeginning(turn), items });
  } catch (error) {
    recorder.warn(historyNotKept(failureOf(error)));
    return null;
  }
}

/** Returns the beginning of a planned turn. A call that was allowed and did not run has a result that says so (T8). */
export function wholeBeginning(plan: TurnPlan): TurnBeginning {
  const answered = new Set(plan.newItems.flatMap((item) => (item.type === "tool_result" ? [item.callId] : [])));
  const open = plan.approved.filter(({ callId }) => !answered.has(callId));
  return plannedBeginning(open.length === 0 ? plan : withResults(plan, closingResults(open, callNotRun)));
}

/** Returns the beginning of a turn that failed before it was planned. */
export function unplannedBeginning({ accepted, closed }: Pick<AnsweredTurn, "accepted" | "closed">): TurnBeginning {
  const { instruction, mode } = accepted;
  const results = [...closed.results, ...closingResults(closed.approved, callNotRun)];
  const message = instruction === "" ? [] : [userMessage(mode.id, instruction)];
  const earlier = earlierHistory(accepted, []);
  return {
    newItems: [...results, ...earlier, ...message],
    sent: { chunks: [], files: [] },
    readable: [],
    summary: null,
  };
}
