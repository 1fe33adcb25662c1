/** Decides how a turn ends, from how its run ended (T2, T8, T10, T12). Pure. */
import { failure, type Failure, type Warning } from "../../../domain/errors.ts";
import type { RunFailed, RunFinished } from "../../../domain/events.ts";
import { openToolCalls, type HistoryItem } from "../../../domain/history.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import { closingResults } from "../kept/turn-state.ts";
import { runnerLost } from "../live/leases.ts";
import { hasLostLease } from "../live/live-turn.ts";
import type { RunRecorder } from "../live/run-recorder.ts";
import type { AnsweredTurn } from "../live/turn-stages.ts";

export type Ending =
  | { status: "completed" | "awaiting_tool_results"; terminal: RunFinished; items: HistoryItem[] }
  /** `items` is what the turn did before it failed. Null: it did nothing, so it is forgotten (T12). */
  | { status: "failed"; terminal: RunFailed; items: HistoryItem[] | null };

/** The result of a call that a failure cut off before it ran (T8). */
export const callNotRun = "failed: the call was not run";

export function decideEnd(turn: AnsweredTurn): Ending {
  const { answer, recorder, deferredCalls, live } = turn;
  if (answer.ended !== "answered" && hasLostLease(live.state)) return failedEnd(turn, runnerLost);
  if (answer.ended === "failed") return failedEnd(turn, answer.failure);
  if (answer.ended === "interrupted") {
    if (!didSomething(turn))
      return failedEnd(turn, failure("interrupted", "the turn was stopped before it had output"));
    const items = closed(turn, "interrupted: the call was not run");
    return finishedEnd(recorder, { status: "completed", stopReason: "interrupted", items });
  }
  const { items } = recorder;
  if (deferredCalls.length === 0)
    return finishedEnd(recorder, { status: "completed", stopReason: answer.stopReason, items });
  return finishedEnd(recorder, { status: "awaiting_tool_results", stopReason: "tool_calls", items, deferredCalls });
}

const serverStopped: Warning = {
  code: "server_stopped",
  message:
    "the server was stopped before the turn had ended, and no person stopped it; continue when the server is back",
};

/** Returns what a reader must know of this end: that no person interrupted the turn, but the end of this process (R4). */
export function endWarnings({ live, answer }: AnsweredTurn): Warning[] {
  const isInterrupted =
    answer.ended === "interrupted" || (answer.ended === "failed" && answer.failure.code === "interrupted");
  return isInterrupted && live.endsWithServer ? [serverStopped] : [];
}

/** Returns the warning of a turn that did something that the next turn will not know of (S5). */
export function historyNotKept({ code, message }: Failure): Warning {
  const next = "the next instruction continues from the turn before it";
  return {
    code: "history_not_kept",
    message: `what this turn did could not be kept for the model (${code}: ${message}); ${next}`,
  };
}

/**
 * Returns true if the turn has something that must not be forgotten: output of the model, which every completed step and
 * every tool that ran has, or results of tools that the turn brought (T12).
 */
export function didSomething({ recorder, accepted }: Pick<AnsweredTurn, "recorder" | "accepted">): boolean {
  return recorder.hasOutput || accepted.toolResults.length > 0;
}

function failedEnd(turn: AnsweredTurn, reason: Failure): Ending {
  const { recorder } = turn;
  const items = didSomething(turn) ? closed(turn, callNotRun) : null;
  return { status: "failed", items, terminal: { type: "run_failed", failure: reason, usage: recorder.usage } };
}

interface FinishedEnd extends Pick<RunFinished, "status" | "stopReason"> {
  items: HistoryItem[];
  deferredCalls?: DeferredCall[];
}

function finishedEnd({ usage }: RunRecorder, { status, stopReason, items, deferredCalls = [] }: FinishedEnd): Ending {
  return { status, items, terminal: { type: "run_finished", status, stopReason, usage, deferredCalls } };
}

/** Returns the items, with a result for each call that was cut off before it ran (T8). */
function closed({ plan, recorder: { items } }: AnsweredTurn, output: string): HistoryItem[] {
  return [...items, ...closingResults([...(plan?.waiting ?? []), ...openToolCalls(items)], output)];
}
