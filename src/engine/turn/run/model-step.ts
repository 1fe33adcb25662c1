/** Runs one model call of a turn as a step: it is announced, timed, priced and recorded (T4, D3). */
import { failure, type Failure, type Warning } from "../../../domain/errors.ts";
import { costOf } from "../../../domain/models.ts";
import type { Step } from "../../../domain/step.ts";
import { isCounted, noUsage, unknownUsage, type Usage } from "../../../domain/usage.ts";
import { believedWait } from "../../../providers/terminal-event.ts";
import type { Provider, ProviderFailed } from "../../../providers/provider.ts";
import { isRecord } from "../../../system/guards.ts";
import { hideSecretForms } from "../../../system/secret-forms.ts";
import { adjustedWarnings, droppedWarnings } from "../prepare/build-call.ts";
import type { EngineCore } from "../live/engine-core.ts";
import type { EngineDependencies } from "../../dependencies.ts";
import { holdsLease, runnerLost } from "../live/leases.ts";
import { holdBudgets } from "./hold-budgets.ts";
import type { ModelRun } from "./model-run.ts";
import { answerReader, brokenCall, type CallEnd, type ReadAnswer } from "./read-answer.ts";
import { storeStep } from "./store-step.ts";
import type { ModelRequest } from "./turn-requests.ts";

export interface ModelStep {
  request: ModelRequest;
  /** Reads the answer to its end. Never throws. */
  consume(read: ReadAnswer): Promise<CallEnd>;
}

export async function modelStep(core: EngineCore, run: ModelRun, { request, consume }: ModelStep): Promise<CallEnd> {
  const { deps } = core;
  const { plan, recorder, live } = run;
  const provider = plan.accepted.provider;
  const startedAt = deps.now();
  await storeStep(core, run);
  const held = await holdBudgets(core, run, request);
  if ("failure" in held) return notSent(held.failure);
  if (!holdsLease(core, live)) {
    await held.settle({ model: request.request.model, usage: noUsage });
    return notSent(runnerLost);
  }
  recorder.modelRequests += 1;
  for (const warning of droppedWarnings(request.request, { accepted: plan.accepted, parent: run.place.parent }))
    warnOnce(run, warning);
  for (const warning of adjustedWarnings(request.request)) warnOnce(run, warning);
  recorder.emit({ type: "step_started", step: request.step });
  const { signal } = live;
  const read = answerReader(deps, { provider, signal, send: () => provider.send(request.request, signal) });
  const end = await watchedCall(deps, run, { request, consume: () => consume(read) });
  // Messages that were cut short end before their step ends.
  recorder.endAll();
  const model = end.type === "finished" ? end.model : request.request.model;
  const usage = priced(provider, model, end.usage);
  await held.settle({ model, usage: end.usage });
  if (end.type === "finished" && end.isUsageEstimated === true) warnOfEstimate(run);
  if (end.type === "failed" && end.contextTokens !== undefined) core.windows.learn(plan.accepted, end.contextTokens);
  recorder.addUsage(model, usage);
  const endedAt = deps.now();
  recorder.answeredAt = endedAt;
  recorder.unstoredStep = {
    turnId: plan.turnId,
    index: request.step,
    provider: provider.name,
    model,
    startedAt,
    endedAt,
    previousResponseId: request.call.previousResponseId,
    request: request.stored,
    ...outcomeOf(end),
    usage,
  };
  recorder.emit({ type: "step_finished", step: request.step, usage });
  return end;
}

function notSent(reason: Failure): ProviderFailed {
  return { type: "failed", failure: reason, retryAfterMs: null, usage: noUsage };
}

function outcomeOf(end: CallEnd): Pick<Step, "outcome" | "responseId"> {
  return end.type === "finished"
    ? { responseId: end.responseId, outcome: { status: "completed", stopReason: end.stopReason } }
    : { responseId: null, outcome: { status: "failed", failure: end.failure } };
}

/** Runs the call, and reports it to observers. */
async function watchedCall(
  { observer }: EngineDependencies,
  { plan, recorder, live }: ModelRun,
  { request, consume }: { request: ModelRequest; consume: () => Promise<CallEnd> },
): Promise<CallEnd> {
  const { step, request: sent } = request;
  const { turnId, accepted } = plan;
  const activity = observer.modelCall({ turnId, step, provider: accepted.provider.name, model: sent.model });
  recorder.outputAt = null;
  const begunAt = performance.now();
  const end = wholeEnd(await live.watch.ofOthers(() => activity.within(consume)), accepted.provider.name);
  if (recorder.outputAt !== null) live.watch.sawOutput(recorder.outputAt);
  const firstOutputMs = recorder.outputAt === null ? null : recorder.outputAt - begunAt;
  const reported =
    end.type === "finished"
      ? { model: end.model, responseId: end.responseId, stopReason: end.stopReason, code: null }
      : { model: sent.model, responseId: null, stopReason: null, code: end.failure.code };
  activity.end({ ...reported, usage: priced(accepted.provider, reported.model, end.usage), firstOutputMs });
  return end;
}

/**
 * Returns the end as it is kept. Its usage is unknown if a driver breaks its contract: no store takes such counts (T11). A driver whose answer
 * has no usage at all gets an error that says so. A failure has the wait that the provider asks for.
 */
export function wholeEnd(end: CallEnd, provider: string): CallEnd {
  // The driver may be written in JavaScript.
  const hasUsage = isRecord(end.usage);
  if (!hasUsage && end.type === "finished") {
    const contract =
      "an event `finished` has `usage`, with the counts `input`, `output`, `cached`, `reasoning` and `total`";
    return brokenCall(failure("internal", `the driver of ${provider} breaks its contract: ${contract}`));
  }
  const counted = hasUsage && isCounted(end.usage) ? end : { ...end, usage: unknownUsage };
  return counted.type === "finished" ? counted : withBelievedWait(counted);
}

/**
 * Returns the failure with a wait that can be stored, or without one. A driver may have put one into `failure` itself. What it says, or
 * threw, shows no key (E8): the engine knows the keys of no driver, so it hides what looks like one.
 */
function withBelievedWait(end: ProviderFailed): ProviderFailed {
  const { retryAfterSeconds: given, ...words } = end.failure;
  const reason = { ...words, message: hideSecretForms(String(words.message)) };
  const retryAfterMs = believedWait(end.retryAfterMs);
  const wait = retryAfterMs ?? believedWait(Number(given) * 1_000);
  if (wait === null) return { ...end, failure: reason, retryAfterMs };
  return { ...end, failure: { ...reason, retryAfterSeconds: Math.ceil(wait / 1_000) }, retryAfterMs };
}

/** Returns the usage with its price, if that is known. */
export function priced({ isFree }: Pick<Provider, "isFree">, model: string, usage: Usage): Usage {
  const costUsd = isFree === true ? 0 : costOf(model, usage);
  return costUsd === undefined ? usage : { ...usage, costUsd };
}

function warnOfEstimate(run: ModelRun): void {
  const { name } = run.plan.accepted.provider;
  const message = `${name} reports no token counts; they are estimated from the lengths of the texts`;
  warnOnce(run, { code: "usage_estimated", message });
}

/** Adds a warning, once per code and turn: each call of the turn has the same reason. */
function warnOnce({ recorder }: ModelRun, warning: Warning): void {
  if (!recorder.warnings.some(({ code }) => code === warning.code)) recorder.warn(warning);
}
