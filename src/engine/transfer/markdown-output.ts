/** Writes the output of a turn from its events: messages as they are and folded tool calls, in their order. */
import type { TurnEvent } from "../../domain/events.ts";
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
  const pieces: Piece[] = [];
  const messages = new Map<string, { text: string }>();
  const calls = new Map<string, ToolCall>();
  const callOf = (callId: string, name: string): ToolCall => {
    const known = calls.get(callId);
    if (known !== undefined) return known;
    const call: ToolCall = { name, arguments: "", result: null };
    calls.set(callId, call);
    pieces.push({ call });
    return call;
  };
  for (const event of events) {
    if (event.type === "text_delta") {
      const message = messages.get(event.messageId) ?? { text: "" };
      if (!messages.has(event.messageId)) pieces.push(message);
      messages.set(event.messageId, message);
      message.text += event.delta;
    } else if (event.type === "tool_call_started") callOf(event.callId, event.name);
    else if (event.type === "tool_call_delta") callOf(event.callId, "").arguments += event.delta;
    // A call of an earlier turn that was allowed since is answered here.
    else if (event.type === "tool_result") callOf(event.callId, `call ${event.callId}`).result = event;
    else if (event.type === "steered") pieces.push({ steered: event.text });
  }
  return pieces;
}

function callBlock({ name, arguments: given, result }: ToolCall): string {
  const outcome = result === null ? [] : [result.isError ? "Error:" : "Result:", fencedText(result.output, "text")];
  return details(`Tool ${name}`, [...(given === "" ? [] : [fencedText(given, "json")]), ...outcome]);
}
