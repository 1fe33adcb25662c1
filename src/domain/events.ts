/**
 * The events of a turn, in the order in which they happen: one closed union that every door switches over exhaustively
 * (V1). The stream of events is the only output of a turn. A client that wants the answer in one piece collects it.
 */
import { limits } from "./limits.ts";
import type { Failure, Warning } from "./errors.ts";
import type { HistorySource } from "./context.ts";
import type { DeferredCall, ToolCallView, ToolContent } from "./tool.ts";
import type { Usage } from "./usage.ts";

export type TurnEvent =
  | { type: "run_started"; sessionId: string; turnId: string; parentTurnId: string | null }
  | { type: "warning"; warning: Warning }
  /** What was gathered for the model, before it is called. */
  | { type: "context"; context: GatheredContext }
  | { type: "step_started"; step: number }
  | { type: "reasoning_started"; messageId: string }
  | { type: "reasoning_delta"; messageId: string; delta: string }
  | { type: "reasoning_ended"; messageId: string }
  | { type: "text_started"; messageId: string }
  | { type: "text_delta"; messageId: string; delta: string }
  | { type: "text_ended"; messageId: string }
  | { type: "tool_call_started"; callId: string; name: string }
  | { type: "tool_call_delta"; callId: string; delta: string }
  | { type: "tool_call_ended"; callId: string }
  /**
   * How a person sees a call, before it runs and before they are asked to allow it. `asks`: the call waits until someone
   * has answered whether it may run.
   */
  | { type: "tool_call_view"; callId: string; view: ToolCallView; asks?: boolean }
  /** The question about a call was answered. The first answer counts (V5). */
  | { type: "approval_answered"; callId: string; approved: boolean }
  /** Output of a running call. Only a limited part of the output, from its beginning, is sent. */
  | { type: "tool_output_delta"; callId: string; delta: string }
  | { type: "tool_result"; callId: string; output: string; isError: boolean; content?: ToolContent[] }
  /** A message that was sent to the running turn, at the moment when the model receives it (V4). */
  | { type: "steered"; text: string }
  /** A subagent started, or continues after it had ended. It runs in its own turn (A1). */
  | { type: "subagent_started"; subagentId: string; turnId: string; name: string; instruction: string }
  /** A subagent ended during this turn, and its message waits in the mailbox of the session (A2). */
  | { type: "subagent_ended"; subagentId: string; turnId: string; name: string; status: "completed" | "failed" }
  | { type: "step_finished"; step: number; usage: Usage }
  | RunFinished
  | RunFailed;

/**
 * The terminal event of a turn that did not fail. Every finished turn has exactly one terminal event, and nothing
 * follows it (T11).
 */
export interface RunFinished {
  type: "run_finished";
  status: "completed" | "awaiting_tool_results";
  stopReason: StopReason;
  usage: Usage;
  deferredCalls: DeferredCall[];
}
/** The terminal event of a turn that failed. */
export interface RunFailed {
  type: "run_failed";
  failure: Failure;
  usage: Usage;
}

/**
 * Why the turn stopped. `interrupted`: a person stopped it, and its output was kept (T10). `step_limit`: the model kept
 * calling tools until the turn reached its limit of model calls.
 */
export type StopReason = "stop" | "length" | "tool_calls" | "content_filter" | "interrupted" | "step_limit";

/** What was gathered for the model before its first call. */
export interface GatheredContext {
  history: HistorySource;
  historyTurns: number;
  chunks: { id: string; path: string; startLine: number; endLine: number; wasSent: boolean }[];
  files: { path: string; wasSent: boolean; wasTooLarge: boolean }[];
  /** The files with rules that a conversation begins with (M1). Absent: none, or they are not new. */
  rules?: string[];
  /** The files with rules that changed, are new, or no longer count. Absent: none. */
  rulesChanged?: string[];
  /** The names of the skills that the message offers (M4). Absent: none, or the model has the same list. */
  skills?: string[];
  /** The ids of the facts of the workspace's memory that the message brings (M3). Absent: none. */
  facts?: string[];
}

/**
 * An event with its position in the turn. Positions count from 1 without gaps, and are the ids of the SSE stream (V2).
 */
export interface SequencedEvent {
  seq: number;
  event: TurnEvent;
}

/** Returns the messages of an answer, in order, with one blank line between two messages. */
export function answerOf(events: readonly TurnEvent[]): string {
  const messages = new Map<string, string[]>();
  for (const event of events) {
    if (event.type !== "text_delta") continue;
    const pieces = messages.get(event.messageId) ?? [];
    messages.set(event.messageId, pieces);
    pieces.push(event.delta);
  }
  // A text that grew by `+` would keep all its pieces in memory.
  return [...messages.values()].map((pieces) => pieces.join("")).join("\n\n");
}

/** Returns true for the last event of a turn. */
export function isTerminal(event: TurnEvent): event is RunFinished | RunFailed {
  return event.type === "run_finished" || event.type === "run_failed";
}

/**
 * An event as it is stored. Consecutive deltas of one message are joined into one text, with the lengths of the deltas
 * beside it. This keeps the log small, and every event can still be read back exactly, from any position (V2).
 */
export type KeptEvent = TurnEvent | { type: "joined"; of: DeltaType; id: string; text: string; lengths: number[] };
/** Every event with a `delta` is stored joined, so the compiler finds a new one here. */
type DeltaType = Extract<TurnEvent, { delta: string }>["type"];

function deltaParts(event: TurnEvent): { of: DeltaType; id: string; delta: string } | null {
  if (!("delta" in event)) return null;
  return { of: event.type, id: "messageId" in event ? event.messageId : event.callId, delta: event.delta };
}

function deltaEvent(of: DeltaType, id: string, delta: string): TurnEvent {
  const isOfCall = of === "tool_call_delta" || of === "tool_output_delta";
  return isOfCall ? { type: of, callId: id, delta } : { type: of, messageId: id, delta };
}

/** Returns the two pieces as one event. Null: they are no pieces, or of different texts, or the first is long enough. */
export function joinedDelta(first: TurnEvent, next: TurnEvent): TurnEvent | null {
  const [before, after] = [deltaParts(first), deltaParts(next)];
  if (before === null || after === null || before.of !== after.of || before.id !== after.id) return null;
  if (before.delta.length >= limits.joinedPieceCharactersMax) return null;
  return deltaEvent(before.of, before.id, before.delta + after.delta);
}

/** Returns the events in the form that is stored. `splitDeltas` reverses it. */
export function joinDeltas(events: readonly TurnEvent[]): KeptEvent[] {
  const kept: KeptEvent[] = [];
  for (const event of events) {
    const parts = deltaParts(event);
    const last = kept.at(-1);
    if (parts === null) {
      kept.push(event);
    } else if (last?.type === "joined" && last.of === parts.of && last.id === parts.id) {
      last.text += parts.delta;
      last.lengths.push(parts.delta.length);
    } else {
      kept.push({ type: "joined", of: parts.of, id: parts.id, text: parts.delta, lengths: [parts.delta.length] });
    }
  }
  return kept;
}

/** Returns the events that were stored, exactly as they were. */
export function splitDeltas(kept: readonly KeptEvent[]): TurnEvent[] {
  return kept.flatMap((event) => [...eventsIn(event)]);
}

/** Returns how many events a stored event stands for. */
export function eventCount(kept: KeptEvent): number {
  return kept.type === "joined" ? kept.lengths.length : 1;
}

/** Yields the events that a stored event stands for. */
export function* eventsIn(kept: KeptEvent): Generator<TurnEvent> {
  if (kept.type !== "joined") return yield kept;
  let at = 0;
  for (const length of kept.lengths) {
    yield deltaEvent(kept.of, kept.id, kept.text.slice(at, at + length));
    at += length;
  }
}

/** Returns the name of the stream of a turn's events, which Redis uses too (V3). */
export function streamKey(turnId: string): string {
  return `aptove:turn:${turnId}:events`;
}
