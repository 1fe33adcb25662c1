/**
 * Runs the loop of a turn. The model is called, its tools run, and messages that arrived meanwhile are delivered. This
 * repeats until the model calls no more tools, or calls tools that the caller must answer, or reaches the limit.
 */
import type { HistoryItem } from "../../../domain/history.ts";
import { limits } from "../../../domain/limits.ts";
import type { ModelCall } from "../../../providers/provider.ts";
import { callModel } from "./call-model.ts";
import { compact } from "./compaction.ts";
import { followControls, takeSteers } from "../live/control.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { ModelAnswer, OpenedTurn, RunOutcome } from "../live/turn-stages.ts";
import type { ModelRun } from "./model-run.ts";
import { firstCall, laterCall } from "../prepare/build-call.ts";
import { withResults } from "../prepare/plan-turn.ts";
import type { TurnPlan } from "../prepare/turn-plan.ts";
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
  let { plan } = turn.prepared;
  try {
    if (plan.approved.length > 0) plan = await runAllowedCalls(core, turn, plan);
    const run: ModelRun = { ...turn, plan, requests: new TurnRequests(core.deps.blobs, plan) };
    if (plan.isTooLong) run.plan = plan = await shortened(core, run);
    const outcome = await loop(core, run);
    if (!isTooLongAfterAll(run, outcome)) return outcome;
    // The provider counts more exactly than this program, or knows a window that this program does not know (C4).
    run.plan = plan = await shortened(core, run);
    return await loop(core, run);
  } catch (error) {
    // A store failed between two calls. The output so far is kept with the failed turn.
    return { plan, deferredCalls: [], answer: { ended: "failed", failure: failureOf(error) } };
  }
}

/**
 * Returns the plan with a summary in place of the oldest turns, and with the files and chunks of those turns that this
 * turn needs (C6).
 */
async function shortened(core: EngineCore, run: ModelRun): Promise<TurnPlan> {
  return await sendAgain(core, await compact(core, run, core.deps.contextTokens(run.plan.accepted.model)));
}

function isTooLongAfterAll({ plan, recorder }: ModelRun, { answer }: RunOutcome): boolean {
  const isRefused = answer.ended === "failed" && answer.failure.code === "context_window_exceeded";
  return isRefused && plan.summary === null && plan.state.entries.length > 0 && !recorder.hasOutput;
}

async function runAllowedCalls(core: EngineCore, turn: OpenedTurn, plan: TurnPlan): Promise<TurnPlan> {
  const run: ModelRun = { ...turn, plan, requests: new TurnRequests(core.deps.blobs, plan) };
  const results = await runApproved(core, run, plan.approved);
  return withResults(plan, results);
}

async function loop(core: EngineCore, run: ModelRun): Promise<RunOutcome> {
  const { plan, recorder } = run;
  const opened = recorder.modelRequests === 0 ? run.requests.opened(run.pending.blobs.opening) : null;
  let request = opened ?? (await run.requests.store(recorder.modelRequests + 1, firstCall(plan, plan.decision), run));
  for (let round = 1; ; round += 1) {
    const answer = await callModel(core, run, request);
    if (answer.ended !== "answered") return { plan, answer, deferredCalls: [] };
    const answered = recorder.items.length;
    const deferredCalls = await run.live.watch.ofOthers(() => runTools(core, run));
    if (run.live.signal.aborted) return { plan, answer: { ended: "interrupted" }, deferredCalls: [] };
    const isSteered = deferredCalls.length === 0 && (await handInSteers(core, run));
    // Messages of other processes are read once more, so that the end includes them (R3).
    if (deferredCalls.length > 0) await followControls(core);
    const hasNews = recorder.items.length > answered;
    if (deferredCalls.length > 0 || (!hasNews && !isSteered)) return { plan, answer, deferredCalls };
    if (round >= limits.stepsPerTurnMax) return { plan, answer: atLimit(run, answer), deferredCalls: [] };
    const news = recorder.items.slice(answered);
    request = await nextRequest(run, { answer, news, produced: [...recorder.items] });
  }
}

interface Next {
  answer: Extract<ModelAnswer, { ended: "answered" }>;
  /** The items that the model has not received yet. */
  news: HistoryItem[];
  produced: HistoryItem[];
}

/** Returns the next request. It continues the provider's memory of the call before, or sends everything again (C1). */
async function nextRequest(run: ModelRun, { answer, news, produced }: Next): Promise<ModelRequest> {
  const { plan, requests } = run;
  const call: ModelCall =
    plan.accepted.history === "chain" && answer.responseId !== null
      ? laterCall(plan, { use: answer.responseId }, news)
      : laterCall(plan, "replay", produced);
  return await requests.store(answer.step + 1, call, run);
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

function atLimit({ recorder }: ModelRun, answer: Extract<ModelAnswer, { ended: "answered" }>): ModelAnswer {
  const message = `the turn was stopped after ${limits.stepsPerTurnMax} model calls; send another instruction to continue it`;
  recorder.warn({ code: "step_limit", message });
  // The provider's memory ends before the last results, so it cannot be continued.
  return { ...answer, stopReason: "step_limit", responseId: null };
}
