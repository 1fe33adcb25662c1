/** Writes the output of a turn from its events: messages as they are and folded tool calls, in their order. */
import type { TurnEvent } from "../../domain/events.ts";
import { ignoreUnknown } from "../../system/guards.ts";
import { details, fencedText, prose } from "./markdown-text.ts";

interface ToolCall {
  name: string;
  arguments: string;
  result: { output: string; isError: boolean } | null;
}

type Piece = { text: string } | { call: ToolCall } | { steered: string };

export function outputBlocks(events: readonly TurnEvent[]): string[] {
  return piecesOf(events).flatMap((piece): string[] => {
    if ("steered" in piece) return ["**Added while it ran**", fencedText(piece.steered, "text")];
    if ("call" in piece) return [callBlock(piece.call)];
    return piece.text === "" ? [] : ["**Answer**", prose(piece.text)];
  });
}

function piecesOf(events: readonly TurnEvent[]): Piece[] {
  const output: Output = { pieces: [], messages: new Map(), calls: new Map() };
  for (const event of events) addEvent(output, event);
  return output.pieces;
}

interface Output {
  pieces: Piece[];
  messages: Map<string, { text: string }>;
  calls: Map<string, ToolCall>;
}

function addEvent(output: Output, event: TurnEvent): void {
  switch (event.type) {
    case "text_delta":
      messageOf(output, event.messageId).text += event.delta;
      break;
    case "tool_call_started":
      callOf(output, event.callId, event.name);
      break;
    case "tool_call_delta":
      callOf(output, event.callId, "").arguments += event.delta;
      break;
    case "tool_result":
      // A call of an earlier turn that was allowed since is answered here.
      callOf(output, event.callId, `call ${event.callId}`).result = event;
      break;
    case "steered":
      output.pieces.push({ steered: event.text });
      break;
    // The frame of the run and its steps, and what the result of a call repeats, are not written.
    case "run_started":
    case "warning":
    case "context":
    case "step_started":
    case "reasoning_started":
    case "reasoning_delta":
    case "reasoning_ended":
    case "text_started":
    case "text_ended":
    case "tool_call_ended":
    case "tool_call_view":
    case "approval_answered":
    case "tool_output_delta":
    case "subagent_started":
    case "subagent_ended":
    case "step_finished":
    case "run_finished":
    case "run_failed":
      break;
    default:
      ignoreUnknown(event);
  }
}

function messageOf({ pieces, messages }: Output, messageId: string): { text: string } {
  const known = messages.get(messageId);
  if (known !== undefined) return known;
  const message = { text: "" };
  messages.set(messageId, message);
  pieces.push(message);
  return message;
}

function callOf({ pieces, calls }: Output, callId: string, name: string): ToolCall {
  const known = calls.get(callId);
  if (known !== undefined) return known;
  const call: ToolCall = { name, arguments: "", result: null };
  calls.set(callId, call);
  pieces.push({ call });
  return call;
}

function callBlock({ name, arguments: given, result }: ToolCall): string {
  const outcome = result === null ? [] : [result.isError ? "Error:" : "Result:", fencedText(result.output, "text")];
  return details(`Tool ${name}`, [...(given === "" ? [] : [fencedText(given, "json")]), ...outcome]);
}
