/**
 * Calls the model until there is an answer. It stores each request before it is sent (E7), rebuilds a chain that the
 * provider forgot (C3), retries what may succeed later (C7), and records every call as a step.
 */
import { failure, type Failure } from "../../../domain/errors.ts";
import type { StopReason } from "../../../domain/events.ts";
import { limits } from "../../../domain/limits.ts";
import type { ProviderEvent, ProviderFailed } from "../../../providers/provider.ts";
import { ignoreUnknown } from "../../../system/guards.ts";
import { firstCall, laterCall, rebuiltWarning } from "../prepare/build-call.ts";
import type { EngineCore } from "../live/engine-core.ts";
import { ArrivingAnswer } from "../live/pacing.ts";
import type { ModelAnswer } from "../live/turn-stages.ts";
import type { ModelRun } from "./model-run.ts";
import { modelStep } from "./model-step.ts";
import { brokenCall, type CallEnd, type ReadAnswer } from "./read-answer.ts";
import type { RunRecorder } from "../live/run-recorder.ts";
import type { ModelRequest } from "./turn-requests.ts";
import { waitToRetry } from "./wait-to-retry.ts";

/** Returns the answer, or the failure. Throws only what a store throws. */
export async function callModel(core: EngineCore, run: ModelRun, first: ModelRequest): Promise<ModelAnswer> {
  const { deps } = core;
  const { plan, recorder } = run;
  const { signal } = run.live;
  const differs = (): void => deps.report(unlikeDeltas(plan.accepted.provider.name));
  recorder.beginCall();
  let request = first;
  for (let triesOfThisCall = 1; ; triesOfThisCall += 1) {
    if (signal.aborted) return { ended: "interrupted" };
    const end = await modelStep(core, run, {
      request,
      consume: (read) => consume(read, { recorder, step: request.step, differs }),
    });
    if (end.type === "finished") {
      recorder.contextTokens = end.usage.isPartial === true ? null : end.usage.input + end.usage.output;
      return { ended: "answered", stopReason: end.stopReason, responseId: end.responseId, step: request.step };
    }
    if (signal.aborted) return { ended: "interrupted" };
    // After the first output, a retry would show the answer twice, and a call that was started as two calls.
    if (recorder.callHasOutput || recorder.callHasShownTool) return { ended: "failed", failure: end.failure };
    recorder.forgetCall();
    if (end.failure.code === "chain_forgotten" && request.call.previousResponseId !== null) {
      recorder.warn(rebuiltWarning(plan.accepted, "it no longer has the earlier response"));
      recorder.isRebuilt = true;
      deps.observer.note({ type: "chain_rebuilt", provider: plan.accepted.provider.name });
      request = await rebuild(run, request.step + 1);
      triesOfThisCall = 0;
      continue;
    }
    if (!(await waitToRetry(core, run, { attempt: triesOfThisCall, end }))) {
      return signal.aborted ? { ended: "interrupted" } : { ended: "failed", failure: end.failure };
    }
    request = { ...request, step: request.step + 1 };
  }
}

/**
 * Rebuilds the request from our own store, once (C3). The new request is stored before it is sent, like the first one.
 */
async function rebuild(run: ModelRun, step: number): Promise<ModelRequest> {
  const { plan, recorder, requests } = run;
  const isFirst = recorder.items.length === 0;
  const call = isFirst ? firstCall(plan, "replay") : laterCall(plan, "replay", recorder.items);
  return await requests.store(step, call, run);
}

/** Reads the answer to its end, and records it. */
async function consume(read: ReadAnswer, { recorder, step, differs }: Omit<Recording, "messageId">): Promise<CallEnd> {
  const recording: Recording = { recorder, step, differs, messageId: messageIds(recorder.turnId, step) };
  const answer = new ArrivingAnswer();
  const end = await read((event) => {
    answer.arrived();
    if (event.type === "finished" || event.type === "failed") {
      return event.type === "finished" && !recorder.callHasOutput ? emptyAnswer(event) : event;
    }
    record(event, recording);
    return recorder.bytesReceived > limits.answerBytesMax ? brokenCall(endless()) : null;
  });
  answer.ended();
  return end;
}

function endless(): Failure {
  return failure("provider_answer_invalid", `the answers of the turn are longer than ${limits.answerBytesMax} bytes`);
}

function emptyAnswer({ stopReason, usage }: Extract<ProviderEvent, { type: "finished" }>): ProviderFailed {
  return { type: "failed", failure: whyEmpty(stopReason), retryAfterMs: null, usage };
}

function whyEmpty(stopReason: StopReason): Failure {
  switch (stopReason) {
    case "length":
      return failure(
        "output_limit_reached",
        "the model reached the output limit while it thought, or in the middle of its first tool call",
      );
    case "content_filter":
      return failure("provider_refused_content", "the provider's content filter left nothing of the answer");
    default:
      return failure("provider_answer_invalid", `the model's answer was empty (stop reason: ${stopReason})`);
  }
}

/** Returns the ids of messages. The ids of a provider may repeat; these are unique in the whole session. */
function messageIds(turnId: string, step: number): (itemId: string) => string {
  const known = new Map<string, string>();
  return (itemId) => {
    const id = known.get(itemId) ?? `${turnId}-${step}.${known.size + 1}`;
    known.set(itemId, id);
    return id;
  };
}

interface Recording {
  recorder: RunRecorder;
  step: number;
  messageId(itemId: string): string;
  /** Called for an item that is not what its deltas were. */
  differs(this: void): void;
}

/** The answer that people have seen cannot be changed any more, and the item may have what the provider needs back. So both are kept as they came. */
function unlikeDeltas(provider: string): string {
  return `the driver of ${provider} breaks its contract: an item is not what its deltas were; the model will have the item, and people have seen the deltas`;
}

function record(event: Exclude<ProviderEvent, CallEnd>, recording: Recording): void {
  const { recorder, step, messageId } = recording;
  switch (event.type) {
    case "bytes":
      return recorder.addBytes(step, event);
    case "started":
      return;
    case "text_delta":
      return recorder.textDelta(messageId(event.itemId), event.delta);
    case "reasoning_delta":
      return recorder.reasoningDelta(messageId(event.itemId), event.delta);
    case "tool_call_started":
      return recorder.toolCallStarted(event.callId, event.name);
    case "tool_call_delta":
      return recorder.toolCallDelta(event.callId, event.delta);
    case "item":
      return recordItem(event, recording);
    default:
      ignoreUnknown(event);
  }
}

/** Records a whole item. It is shown in full if no delta has shown it before. */
function recordItem(
  { item, itemId }: Extract<ProviderEvent, { type: "item" }>,
  { recorder, messageId, differs }: Recording,
): void {
  recorder.items.push(item);
  if (item.type === "tool_call") {
    if ((recorder.textOf(item.callId) ?? item.arguments) !== item.arguments) differs();
    if (!recorder.isOpen(item.callId)) {
      recorder.toolCallStarted(item.callId, item.name);
      recorder.toolCallDelta(item.callId, item.arguments);
    }
    return recorder.end(item.callId);
  }
  if (item.type !== "assistant" && item.type !== "reasoning") return;
  const id = messageId(itemId);
  if ((recorder.textOf(id) ?? item.text) !== item.text) differs();
  if (!recorder.isOpen(id) && item.text !== "") {
    if (item.type === "assistant") recorder.textDelta(id, item.text);
    else recorder.reasoningDelta(id, item.text);
  }
  recorder.end(id);
}
