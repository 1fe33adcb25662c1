/**
 * Runs the loop of a turn. The model is called, its tools run, and messages that arrived meanwhile are delivered. This
 * repeats until the model calls no more tools, or calls tools that the caller must answer, or reaches the limit.
 */
import type { HistoryItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { DeferredCall } from "../../../domain/tool.ts";
import { callModel } from "./call-model.ts";
import { compact } from "./compaction.ts";
import { followControls, takeSteers } from "../live/control.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { ModelAnswer, OpenedTurn, RunOutcome } from "../live/turn-stages.ts";
import type { ModelRun } from "./model-run.ts";
import { firstCall, laterCall } from "../prepare/build-call.ts";
import { firstCallTokens, laterCallTokens } from "../prepare/history-size.ts";
import { losesSummary } from "../prepare/facts/turn-memory.ts";
import { withResults, type HistoryDecision, type TurnPlan } from "../prepare/turn-plan.ts";
import { userMessage } from "../request/envelope.ts";
import { runApproved, runTools } from "./run-tools.ts";
import { sendAgain } from "./send-again.ts";
import { TurnRequests, type ModelRequest } from "./turn-requests.ts";
import { failureOf } from "../../../domain/errors.ts";

/** Runs the turn, and returns its outcome. Never rejects. */
export async function runSteps(core: EngineCore, turn: OpenedTurn): Promise<RunOutcome> {
  if ("failure" in turn.prepared) {
    return { plan: null, deferredCalls: [], answer: { ended: "failed", failure: turn.prepared.failure } };
  }
  const { plan } = turn.prepared;
  const { passedBudgets } = turn.closed;
  const run: ModelRun = { ...turn, plan, requests: new TurnRequests(core, plan), passedBudgets, waitsFor: null };
  return parkedByBudget(run, await runPlanned(core, run));
}

/** A turn that a budget stopped waits for a person, if the budget says so and a person can be asked (F11). */
function parkedByBudget({ plan, recorder, waitsFor }: ModelRun, outcome: RunOutcome): RunOutcome {
  const { answer } = outcome;
  if (waitsFor === null || answer.ended !== "failed" || answer.failure.code !== "budget_exceeded") return outcome;
  const step = recorder.modelRequests;
  return {
    plan,
    answer: { ended: "answered", stopReason: "tool_calls", responseId: null, step },
    deferredCalls: [waitsFor],
  };
}

async function runPlanned(core: EngineCore, run: ModelRun): Promise<RunOutcome> {
  const { plan } = run;
  try {
    if (plan.approved.length > 0) run.plan = withResults(plan, await runApproved(core, run, plan.approved));
    if (plan.isTooLong) await shorten(core, run, { wasRefused: false });
    if (plan.accepted.withoutModel) return nothingAsked(run.plan);
    return await loop(core, run);
  } catch (error) {
    // A store failed between two calls, or the history could not be summarised. The output so far is kept.
    const answer: ModelAnswer = run.live.signal.aborted
      ? { ended: "interrupted" }
      : { ended: "failed", failure: failureOf(error) };
    return { plan: run.plan, deferredCalls: [], answer };
  }
}

/** The end of a turn that calls no model. */
function nothingAsked(plan: TurnPlan): RunOutcome {
  const stopReason = plan.waiting.length > 0 ? "tool_calls" : "stop";
  return { plan, deferredCalls: plan.waiting, answer: { ended: "answered", stopReason, responseId: null, step: 0 } };
}

async function loop(core: EngineCore, run: ModelRun): Promise<RunOutcome> {
  const { recorder } = run;
  const opened = recorder.modelRequests === 0 ? run.requests.opened(run.pending.blobs.opening) : null;
  let request = opened ?? (await wholeRequest(run, run.plan.decision));
  const ended = (answer: ModelAnswer, deferredCalls: DeferredCall[] = []): RunOutcome => ({
    plan: run.plan,
    answer,
    deferredCalls,
  });
  for (let round = 1; ; round += 1) {
    const answer = await answerTo(core, run, request);
    if (answer.ended !== "answered") return ended(answer);
    const answered = recorder.items.length;
    const deferredCalls = await run.live.watch.ofOthers(() => runTools(core, run));
    if (run.live.signal.aborted) return ended({ ended: "interrupted" });
    const isSteered = deferredCalls.length === 0 && (await handInSteers(core, run));
    // Messages of other processes are read once more, so that the end includes them (R3).
    if (deferredCalls.length > 0) await followControls(core);
    const hasNews = recorder.items.length > answered;
    if (deferredCalls.length === 0 && !hasNews && !isSteered) warnIfIncomplete(run, answer);
    if (deferredCalls.length > 0 || (!hasNews && !isSteered)) return ended(answer, deferredCalls);
    if (round >= stepsMax(run)) return ended(atLimit(run, answer));
    request = await nextRequest(core, run, { answer, news: recorder.items.slice(answered) });
  }
}

/** Returns the answer to a request. A request that the provider finds too long is shortened and sent again (C4). */
async function answerTo(core: EngineCore, run: ModelRun, first: ModelRequest): Promise<ModelAnswer> {
  let request = first;
  for (let shortenings = 0; ; shortenings += 1) {
    const answer = await callModel(core, run, request);
    const isRefused = answer.ended === "failed" && answer.failure.code === "context_window_exceeded";
    if (!isRefused || run.recorder.callHasOutput || shortenings >= limits.shorteningsMax) return answer;
    if (!(await shorten(core, run, { wasRefused: true }))) return answer;
    request = await wholeRequest(run, "replay");
  }
}

/** Replaces the oldest part of the history by a summary. Returns false if that cannot make the request fit (C6). */
async function shorten(core: EngineCore, run: ModelRun, { wasRefused }: { wasRefused: boolean }): Promise<boolean> {
  const { plan, recorder, place } = run;
  if (
    plan.accepted.settings.compaction === false &&
    !plan.accepted.compacts &&
    !losesSummary(plan.state, plan.sent.forgets)
  )
    return false;
  const isFirst = recorder.items.length === 0;
  const tokens = isFirst ? firstCallTokens(plan, place.parent) : laterCallTokens(plan, recorder);
  const window = wasRefused ? await core.windows.find(plan.accepted) : core.windows.of(plan.accepted);
  const compacted = await compact(core, run, { tokens, window, wasRefused });
  if (compacted === null) return false;
  // Tools may have changed the files since the turn began, so between two steps none is sent again (decision 0037).
  run.plan = isFirst ? await sendAgain(core, compacted) : compacted;
  return true;
}

/** Makes a request from everything that the model must know at this moment. */
async function wholeRequest(run: ModelRun, decision: HistoryDecision): Promise<ModelRequest> {
  const { plan, recorder, requests } = run;
  const step = recorder.modelRequests + 1;
  if (recorder.items.length === 0) return await requests.store(step, firstCall(plan, decision), run);
  return await requests.store(step, laterCall(plan, "replay", recorder.items), run);
}

interface Next {
  answer: Extract<ModelAnswer, { ended: "answered" }>;
  /** The items that the model has not received yet. */
  news: HistoryItem[];
}

/**
 * Returns the next request. It continues the provider's memory of the call before, or sends everything again (C1). If it
 * would come too near to the model's window, the history is summarised first (C6).
 */
async function nextRequest(core: EngineCore, run: ModelRun, { answer, news }: Next): Promise<ModelRequest> {
  const { plan, recorder, requests } = run;
  const window = core.windows.of(plan.accepted);
  const isTooLong = window !== null && laterCallTokens(plan, recorder, news) > window * limits.windowShareMax;
  if (isTooLong && (await shorten(core, run, { wasRefused: false }))) return await wholeRequest(run, "replay");
  if (plan.accepted.history !== "chain" || answer.responseId === null) return await wholeRequest(run, "replay");
  return await requests.store(recorder.modelRequests + 1, laterCall(plan, { use: answer.responseId }, news), run);
}

/** Delivers the messages that were sent to the running turn, at its next step (V4). Returns true if there were any. */
async function handInSteers(core: EngineCore, { live, recorder, plan }: ModelRun): Promise<boolean> {
  const isLast = !recorder.items.slice(-1).some((item) => item.type === "tool_result");
  const steers = await takeSteers(core, live, { isLast });
  for (const { text } of steers) {
    recorder.items.push(userMessage(plan.accepted.mode.id, text, null));
    recorder.emit({ type: "steered", text });
  }
  return steers.length > 0;
}

/** Adds a warning to a turn whose answer is not whole, because such an answer may look complete. */
function warnIfIncomplete({ recorder }: ModelRun, { stopReason }: Extract<ModelAnswer, { ended: "answered" }>): void {
  if (stopReason === "length") {
    const message = "the answer is incomplete: the model reached its output limit";
    recorder.warn({ code: "answer_truncated", message });
  }
  if (stopReason === "content_filter") {
    const message = "the answer is incomplete: the provider's content filter stopped it";
    recorder.warn({ code: "answer_filtered", message });
  }
}

/** Returns the model calls that the turn may have. Calls for a summary and repeated calls do not count. */
function stepsMax({ plan }: ModelRun): number {
  return plan.accepted.settings.maxSteps ?? limits.stepsPerTurnMax;
}

function atLimit(run: ModelRun, answer: Extract<ModelAnswer, { ended: "answered" }>): ModelAnswer {
  const message = `the turn was stopped at its limit of ${stepsMax(run)} model calls; send another instruction to continue it`;
  run.recorder.warn({ code: "step_limit", message });
  // The provider's memory ends before the last results, so it cannot be continued.
  return { ...answer, stopReason: "step_limit", responseId: null };
}
