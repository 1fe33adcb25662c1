/**
 * Translates a turn's events into AG-UI 1.0 (V1): a thread is a session, a run is a turn. Each of our events becomes
 * exactly one AG-UI event, so the position of an event in its turn is enough to resume after it (V2). The types come
 * from `@ag-ui/core`, with the event's name as a plain string, so nothing of that package is loaded at run time.
 */
import type { AGUIEventByType, EventType, Interrupt, TokenUsage } from "@ag-ui/core";
import type { Warning } from "../domain/errors.ts";
import { toWireFailure } from "./wire-failure.ts";
import type { GatheredContext, RunFinished, SequencedEvent, TurnEvent } from "../domain/events.ts";
import type { DeferredCall, ToolCallView } from "../domain/tool.ts";
import type { Usage } from "../domain/usage.ts";

type Named<K extends EventType> = { [E in K]: Omit<AGUIEventByType[E], "type"> & { type: `${E}` } }[K];
type Custom = Omit<Named<EventType.CUSTOM>, "name" | "value">;

/** Events that AG-UI does not define: gathered context, messages to the running turn (V4), views and output of tool calls, subagents, warnings. */
export type AptoveCustomEvent = Custom &
  (
    | { name: "aptove.context"; value: GatheredContext }
    | { name: "aptove.steered"; value: { text: string } }
    | { name: "aptove.tool_call_view"; value: { callId: string; view: ToolCallView; asks?: boolean } }
    | { name: "aptove.approval_answered"; value: { callId: string; approved: boolean } }
    | { name: "aptove.tool_output"; value: { callId: string; delta: string } }
    | { name: "aptove.subagent_started"; value: Omit<Extract<TurnEvent, { type: "subagent_started" }>, "type"> }
    | { name: "aptove.subagent_ended"; value: Omit<Extract<TurnEvent, { type: "subagent_ended" }>, "type"> }
    | { name: "aptove.warning"; value: Warning }
  );

/** Every event that a stream may contain. */
export type AgUiEvent =
  | AptoveCustomEvent
  | Named<
      | EventType.RUN_STARTED
      | EventType.RUN_FINISHED
      | EventType.RUN_ERROR
      | EventType.STEP_STARTED
      | EventType.STEP_FINISHED
      | EventType.REASONING_MESSAGE_START
      | EventType.REASONING_MESSAGE_CONTENT
      | EventType.REASONING_MESSAGE_END
      | EventType.TEXT_MESSAGE_START
      | EventType.TEXT_MESSAGE_CONTENT
      | EventType.TEXT_MESSAGE_END
      | EventType.TOOL_CALL_START
      | EventType.TOOL_CALL_ARGS
      | EventType.TOOL_CALL_END
      | EventType.TOOL_CALL_RESULT
    >;

/** The run of a stream. A resumed stream needs it, because it does not start with the event that has these ids. */
export interface RunIds {
  sessionId: string;
  turnId: string;
}

/** Translates one event of a run. */
export function toAgUi({ event }: SequencedEvent, run: RunIds): AgUiEvent {
  switch (event.type) {
    case "run_started": {
      const parent = event.parentTurnId === null ? {} : { parentRunId: event.parentTurnId };
      return { type: "RUN_STARTED", threadId: run.sessionId, runId: run.turnId, ...parent, protocolVersion: "1.0" };
    }
    case "warning":
      return { type: "CUSTOM", name: "aptove.warning", value: event.warning };
    case "context":
      return { type: "CUSTOM", name: "aptove.context", value: event.context };
    case "step_started":
      return { type: "STEP_STARTED", stepName: stepName(event.step) };
    case "step_finished":
      return { type: "STEP_FINISHED", stepName: stepName(event.step), metadata: { usage: tokenUsage(event.usage) } };
    case "reasoning_started":
      return { type: "REASONING_MESSAGE_START", messageId: event.messageId, role: "reasoning" };
    case "reasoning_delta":
      return { type: "REASONING_MESSAGE_CONTENT", messageId: event.messageId, delta: event.delta };
    case "reasoning_ended":
      return { type: "REASONING_MESSAGE_END", messageId: event.messageId };
    case "text_started":
      return { type: "TEXT_MESSAGE_START", messageId: event.messageId, role: "assistant" };
    case "text_delta":
      return { type: "TEXT_MESSAGE_CONTENT", messageId: event.messageId, delta: event.delta };
    case "text_ended":
      return { type: "TEXT_MESSAGE_END", messageId: event.messageId };
    case "tool_call_started":
      return { type: "TOOL_CALL_START", toolCallId: event.callId, toolCallName: event.name };
    case "tool_call_delta":
      return { type: "TOOL_CALL_ARGS", toolCallId: event.callId, delta: event.delta };
    case "tool_call_ended":
      return { type: "TOOL_CALL_END", toolCallId: event.callId };
    case "tool_call_view": {
      const { callId, view, asks } = event;
      const value = { callId, view, ...(asks === true && { asks }) };
      return { type: "CUSTOM", name: "aptove.tool_call_view", value };
    }
    case "approval_answered": {
      const { callId, approved } = event;
      return { type: "CUSTOM", name: "aptove.approval_answered", value: { callId, approved } };
    }
    case "tool_output_delta":
      return { type: "CUSTOM", name: "aptove.tool_output", value: { callId: event.callId, delta: event.delta } };
    case "tool_result":
      return toolResult(event);
    case "steered":
      return { type: "CUSTOM", name: "aptove.steered", value: { text: event.text } };
    case "subagent_started": {
      const { subagentId, turnId, name, instruction } = event;
      return { type: "CUSTOM", name: "aptove.subagent_started", value: { subagentId, turnId, name, instruction } };
    }
    case "subagent_ended": {
      const { subagentId, turnId, name, status } = event;
      return { type: "CUSTOM", name: "aptove.subagent_ended", value: { subagentId, turnId, name, status } };
    }
    case "run_finished":
      return runFinished(event, run);
    case "run_failed": {
      const { code, message, ...metadata } = toWireFailure(event.failure);
      return { type: "RUN_ERROR", message, code, usage: [tokenUsage(event.usage)], metadata };
    }
  }
}

function stepName(step: number): string {
  return `step-${step}`;
}

function toolResult(event: Extract<TurnEvent, { type: "tool_result" }>): AgUiEvent {
  const { callId, output, isError, content } = event;
  const messageId = `result-${callId}`;
  return {
    type: "TOOL_CALL_RESULT",
    messageId,
    toolCallId: callId,
    content: output,
    role: "tool",
    metadata: { isError, ...(content !== undefined && { content }) },
  };
}

function runFinished(event: RunFinished, run: RunIds): AgUiEvent {
  return {
    type: "RUN_FINISHED",
    threadId: run.sessionId,
    runId: run.turnId,
    outcome: outcome(event),
    usage: [tokenUsage(event.usage)],
    metadata: { stopReason: event.stopReason },
  };
}

type Outcome = NonNullable<Named<EventType.RUN_FINISHED>["outcome"]>;

/**
 * Returns the outcome of a run. A run that waits for an approval is interrupted. A run that a user or a limit stopped
 * is cancelled. Every other run is a success, and lists the calls that wait for the client's own tools.
 */
function outcome({ deferredCalls, stopReason }: RunFinished): Outcome {
  const [first, ...rest] = deferredCalls.filter((call) => call.waitsFor === "approval").map(interrupt);
  if (first !== undefined) return { type: "interrupt", interrupts: [first, ...rest] };
  if (stopReason === "interrupted" || stopReason === "step_limit") return { type: "cancelled" };
  if (deferredCalls.length === 0) return { type: "success" };
  return { type: "success", pendingToolCallIds: deferredCalls.map((call) => call.callId) };
}

/** The schema of an answer to an interrupt: a `toolResults` entry of the next turn without the call's id (T9). */
const approvalSchema = {
  type: "object",
  properties: { approved: { type: "boolean" }, reason: { type: "string" } },
  required: ["approved"],
};

function interrupt({ callId, name, arguments: given, budgetIds }: DeferredCall): Interrupt {
  return {
    id: callId,
    reason: "tool_call",
    message:
      budgetIds === undefined ? `May the tool "${name}" run?` : "May the next call of the model pass its budget?",
    toolCallId: callId,
    responseSchema: approvalSchema,
    metadata: { name, arguments: given },
  };
}

function tokenUsage(usage: Usage): TokenUsage {
  const counts = {
    inputTokens: usage.input,
    outputTokens: usage.output,
    totalTokens: usage.total,
    reasoningTokens: usage.reasoning,
    cachedInputTokens: usage.cached,
  };
  if (usage.isPartial !== true) return counts;
  // A count that is not known is left out.
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}
